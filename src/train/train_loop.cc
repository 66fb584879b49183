#include "train/train_loop.h"

#include "base/stop_signal.h"

namespace headwater {
namespace {

class TrainLoop {
 public:
  TrainLoop(const LoopOptions& options, const LoopParts& parts, RunReporter& reporter)
      : options_(options), parts_(parts), reporter_(reporter), done_(options.first_step) {}

  Result<int> run() {
    if (options_.eval_steps > 0 && options_.evaluates_first) {
      HW_RETURN_IF_ERROR(evaluate());
    }
    while (done_ < options_.final_step) {
      HW_ASSIGN_OR_RETURN(const std::optional<StepReport> step, parts_.train(done_));
      if (!step) return data_over();
      ++done_;
      reporter_.step(done_, *step);
      HW_ASSIGN_OR_RETURN(const std::optional<int> code, after_step());
      if (code) return *code;
    }
    reporter_.say(fmt::format("done: step {}, {}", done_, options_.directory));
    return 0;
  }

 private:
  static bool is_multiple(int64_t step, int64_t interval) {
    return interval > 0 && step % interval == 0;
  }

  // The exit code, when the run ends here.
  Result<std::optional<int>> after_step() {
    const int stop = StopSignal::number();
    const bool final = done_ == options_.final_step;
    if (final || stop != 0 || is_multiple(done_, options_.log_steps)) {
      HW_RETURN_IF_ERROR(reporter_.report(parts_.take_metrics()));
    }
    std::optional<std::string> reason;
    if (stop == 0 && options_.eval_steps > 0 &&
        (final || is_multiple(done_, options_.eval_steps))) {
      HW_RETURN_IF_ERROR(evaluate());
      if (parts_.enough && !final) reason = parts_.enough();
    }
    if (final || stop != 0 || reason || is_multiple(done_, options_.save_steps)) {
      HW_RETURN_IF_ERROR(save());
    }
    if (stop != 0) {
      reporter_.say(
          fmt::format("stopped by signal {} after step {}; go on with --resume", stop, done_));
      return std::optional(128 + stop);
    }
    if (!reason) return std::optional<int>();
    reporter_.say(fmt::format("{}: the run ends after step {}", *reason, done_));
    return std::optional(0);
  }

  // Fewer steps than were asked for: all that is due at the end is still done.
  Result<int> data_over() {
    HW_RETURN_IF_ERROR(reporter_.report(parts_.take_metrics()));
    if (options_.eval_steps > 0 && evaluated_ != done_) HW_RETURN_IF_ERROR(evaluate());
    if (saved_ != done_) HW_RETURN_IF_ERROR(save());
    reporter_.say(fmt::format("done: step {}, where the data end, {}", done_, options_.directory));
    return 0;
  }

  Result<> evaluate() {
    evaluated_ = done_;
    return parts_.evaluate(done_);
  }
  Result<> save() {
    saved_ = done_;
    return parts_.save(done_);
  }

  const LoopOptions& options_;
  const LoopParts& parts_;
  RunReporter& reporter_;
  int64_t done_;
  int64_t evaluated_ = -1, saved_ = -1;  // the step after which it was done last
};

}  // namespace

Result<int> run_train_loop(const LoopOptions& options, const LoopParts& parts,
                           RunReporter& reporter) {
  return TrainLoop(options, parts, reporter).run();
}

}  // namespace headwater
