#include "train/run_reporter.h"

#include <sys/resource.h>

#include "base/log.h"

namespace headwater {
namespace {

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

double peak_memory_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

std::string metrics_line(const MetricValues& values) {
  std::string line;
  for (const auto& [name, value] : values) {
    line += fmt::format("{}{} {:.4g}", line.empty() ? "" : "  ", name, value);
  }
  return line;
}

RunReporter::RunReporter(int64_t first_step, int64_t final_step)
    : first_step_(first_step),
      final_step_(final_step),
      done_(first_step),
      progress_("pretrain", final_step - first_step, "steps"),
      run_start_(Clock::now()),
      interval_start_(run_start_) {}

Result<std::unique_ptr<RunReporter>> RunReporter::open(FileSystem& fs, const std::string& directory,
                                                       int64_t first_step, int64_t final_step,
                                                       std::optional<int64_t> resume_step) {
  std::unique_ptr<RunReporter> reporter(new RunReporter(first_step, final_step));
  HW_ASSIGN_OR_RETURN(reporter->log_,
                      MetricsLog::open(fs, join_path(directory, "metrics.jsonl"), resume_step));
  HW_ASSIGN_OR_RETURN(reporter->events_,
                      EventWriter::open(fs, directory, {.resume_step = resume_step}));
  return reporter;
}

void RunReporter::step(int64_t done, const StepResult& result, double learning_rate, int64_t tokens,
                       double waited) {
  done_ = done;
  last_ = result;
  learning_rate_ = learning_rate;
  tokens_ += tokens;
  waited_ = waited;
  mlm_loss_.add(result.mlm_loss);
  if (result.disc_loss) disc_loss_.add(*result.disc_loss);
  total_loss_.add(result.total_loss);
  grad_norm_.add(result.grad_norm);
  if (Progress::is_terminal()) progress_.update(done - first_step_, short_line());
}

std::string RunReporter::short_line() const {
  std::string line = fmt::format("mlm {:.3f}", last_.mlm_loss);
  if (last_.disc_loss) line += fmt::format("  disc {:.4f}", *last_.disc_loss);
  const double elapsed = seconds(Clock::now() - interval_start_);
  return line + fmt::format("  lr {:.2e}  {:.0f} tokens/s", learning_rate_,
                            static_cast<double>(tokens_) / std::max(elapsed, 1e-9));
}

MetricValues RunReporter::interval_values() const {
  const double elapsed = std::max(seconds(Clock::now() - interval_start_), 1e-9);
  MetricValues values = {{"generator_loss", mlm_loss_.value()}};
  if (disc_loss_.weight() > 0) values.emplace_back("discriminator_loss", disc_loss_.value());
  values.emplace_back("total_loss", total_loss_.value());
  values.emplace_back("learning_rate", learning_rate_);
  values.emplace_back("grad_norm", grad_norm_.value());
  values.emplace_back("tokens_per_second", static_cast<double>(tokens_) / elapsed);
  values.emplace_back("data_wait_share", (waited_ - waited_before_) / elapsed);
  values.emplace_back("peak_memory_mb", peak_memory_megabytes());
  return values;
}

Result<> RunReporter::report(ElectraMetrics& metrics) {
  if (total_loss_.weight() == 0) return {};
  MetricValues values = interval_values();
  for (const auto& value : metrics.values()) values.push_back(value);
  HW_RETURN_IF_ERROR(log_->write(done_, "train", values));
  HW_RETURN_IF_ERROR(events_->add_scalars(done_, "train/", values));
  if (const auto warning =
          health_.observe(done_, metrics.replaced_tokens(), metrics.found_tokens())) {
    progress_.clear();
    log_line_warning(*warning);
  }
  if (!Progress::is_terminal()) {
    const double rate =
        static_cast<double>(done_ - first_step_) / seconds(Clock::now() - run_start_);
    const double left = static_cast<double>(final_step_ - done_) / std::max(rate, 1e-9);
    log_info("step {}/{}  {}  ETA {}", done_, final_step_, short_line(), Progress::duration(left));
  }
  metrics.reset();
  mlm_loss_ = disc_loss_ = total_loss_ = grad_norm_ = WeightedMean();
  tokens_ = 0;
  waited_before_ = waited_;
  interval_start_ = Clock::now();
  return {};
}

Result<> RunReporter::report_split(int64_t step, std::string_view split,
                                   const MetricValues& values) {
  HW_RETURN_IF_ERROR(log_->write(step, split, values));
  HW_RETURN_IF_ERROR(events_->add_scalars(step, fmt::format("{}/", split), values));
  say(fmt::format("step {}  {}: {}", step, split, metrics_line(values)));
  // What an evaluation took is not the speed of training.
  if (total_loss_.weight() == 0) interval_start_ = Clock::now();
  return {};
}

void RunReporter::say(std::string_view line) {
  progress_.clear();
  log_line_info(line);
}

Result<> RunReporter::close() {
  progress_.finish();
  HW_RETURN_IF_ERROR(log_->close());
  return events_->close();
}

}  // namespace headwater
