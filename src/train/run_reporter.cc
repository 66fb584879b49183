#include "train/run_reporter.h"

#include <sys/resource.h>

#include <algorithm>

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

RunReporter::RunReporter(std::string verb, int64_t first_step, int64_t final_step)
    : first_step_(first_step),
      final_step_(final_step),
      done_(first_step),
      progress_(std::move(verb), final_step - first_step, "steps"),
      run_start_(Clock::now()),
      interval_start_(run_start_) {}

Result<std::unique_ptr<RunReporter>> RunReporter::open(FileSystem& fs, const std::string& directory,
                                                       std::string verb, int64_t first_step,
                                                       int64_t final_step,
                                                       std::optional<int64_t> resume_step) {
  std::unique_ptr<RunReporter> reporter(new RunReporter(std::move(verb), first_step, final_step));
  HW_ASSIGN_OR_RETURN(reporter->log_,
                      MetricsLog::open(fs, join_path(directory, "metrics.jsonl"), resume_step));
  HW_ASSIGN_OR_RETURN(reporter->events_,
                      EventWriter::open(fs, directory, {.resume_step = resume_step}));
  return reporter;
}

void RunReporter::step(int64_t done, const StepReport& step) {
  done_ = done;
  last_ = step;
  tokens_ += step.tokens;
  for (const StepReport::Loss& loss : step.losses) {
    auto mean =
        std::ranges::find(losses_, loss.name, [](const auto& named) { return named.first; });
    if (mean == losses_.end()) mean = losses_.insert(mean, {loss.name, WeightedMean()});
    mean->second.add(loss.value);
  }
  grad_norm_.add(step.grad_norm);
  if (Progress::is_terminal()) progress_.update(done - first_step_, short_line());
}

std::string RunReporter::short_line() const {
  std::string line;
  for (const StepReport::Loss& loss : last_.losses) {
    if (!loss.label.empty()) line += fmt::format("{} {:.4g}  ", loss.label, loss.value);
  }
  const double elapsed = seconds(Clock::now() - interval_start_);
  return line + fmt::format("lr {:.2e}  {:.0f} tokens/s", last_.learning_rate,
                            static_cast<double>(tokens_) / std::max(elapsed, 1e-9));
}

MetricValues RunReporter::interval_values() const {
  const double elapsed = std::max(seconds(Clock::now() - interval_start_), 1e-9);
  MetricValues values;
  for (const auto& [name, mean] : losses_) values.emplace_back(name, mean.value());
  values.emplace_back("learning_rate", last_.learning_rate);
  values.emplace_back("grad_norm", grad_norm_.value());
  values.emplace_back("tokens_per_second", static_cast<double>(tokens_) / elapsed);
  values.emplace_back("data_wait_share", (last_.waited - waited_before_) / elapsed);
  values.emplace_back("peak_memory_mb", peak_memory_megabytes());
  return values;
}

Result<> RunReporter::report(const MetricValues& metrics) {
  if (grad_norm_.weight() == 0) return {};
  MetricValues values = interval_values();
  values.insert(values.end(), metrics.begin(), metrics.end());
  HW_RETURN_IF_ERROR(log_->write(done_, "train", values));
  HW_RETURN_IF_ERROR(events_->add_scalars(done_, "train/", values));
  if (!Progress::is_terminal()) {
    const double rate =
        static_cast<double>(done_ - first_step_) / seconds(Clock::now() - run_start_);
    const double left = static_cast<double>(final_step_ - done_) / std::max(rate, 1e-9);
    log_info("step {}/{}  {}  ETA {}", done_, final_step_, short_line(), Progress::duration(left));
  }
  losses_.clear();
  grad_norm_ = WeightedMean();
  tokens_ = 0;
  waited_before_ = last_.waited;
  interval_start_ = Clock::now();
  return {};
}

Result<> RunReporter::report_split(int64_t step, std::string_view split,
                                   const MetricValues& values) {
  HW_RETURN_IF_ERROR(log_->write(step, split, values));
  HW_RETURN_IF_ERROR(events_->add_scalars(step, fmt::format("{}/", split), values));
  say(fmt::format("step {}  {}: {}", step, split, metrics_line(values)));
  // What an evaluation took is not the speed of training.
  if (grad_norm_.weight() == 0) interval_start_ = Clock::now();
  return {};
}

void RunReporter::say(std::string_view line) {
  progress_.clear();
  log_line_info(line);
}

void RunReporter::warn(std::string_view line) {
  progress_.clear();
  log_line_warning(line);
}

Result<> RunReporter::close() {
  progress_.finish();
  HW_RETURN_IF_ERROR(log_->close());
  return events_->close();
}

}  // namespace headwater
