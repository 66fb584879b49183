// A fine-tuned model at work: judged on labelled examples (`headwater evaluate`), or telling the
// labels of new ones (`headwater predict`).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "finetune/finetune_options.h"

namespace headwater {

struct ApplyOptions {
  ApplyOptions() { device.num_replicas = 1; }
  std::string model, tokenizer, file;
  DeviceOptions device;
  TaskOptions task;
  int64_t eval_batch_size = 64, threads = 0;
  bool json = false;
};

struct Evaluation {
  std::string model, task;
  std::vector<std::string> labels;
  int64_t examples = 0;
  Judgement judgement;
  Json to_json() const;
};
// The task and its thresholds are those that the model was fine-tuned for, unless others are named.
Result<Evaluation> evaluate_task(const ApplyOptions& options);

// Calls `write` with a JSON line for every example of options.file, which need have no labels; of
// standard input where that is "-".
Result<> predict_task(const ApplyOptions& options,
                      const std::function<Result<>(const std::string& line)>& write);

}  // namespace headwater
