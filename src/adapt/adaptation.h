// What running and planning an adaptation share: the model, the task's texts, and of every stage
// what its result depends on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapt/adapt_options.h"
#include "adapt/adapt_source.h"
#include "adapt/stage_ledger.h"
#include "records/records_build.h"

namespace headwater {

struct AdaptSide {
  std::string name;    // adapted, control
  std::string corpus;  // folder
};

class Adaptation {
 public:
  // Reads the task's dev and test texts and looks at model and corpora; writes nothing.
  static Result<std::unique_ptr<Adaptation>> open(FileSystem& fs, const AdaptOptions& options,
                                                  const Fields& fields);

  FileSystem& fs;
  const AdaptOptions& options;
  const std::string run_options;  // of the fine-tuning, JSON
  StageLedger ledger;
  AdaptSource source;
  Json& sizes() { return *sizes_; }
  std::vector<AdaptSide> sides;
  std::vector<std::string> excluded;                // texts
  std::map<std::string, std::string> data_digests;  // train, dev, test
  double mean_train_bytes = 0;
  int64_t train_examples = 0, judged_examples = 0;

  std::string excluded_lines() const;  // a text a line
  std::string path(const std::string& folder) const { return ledger.path(folder); }
  // The model that is fine-tuned as `side`: base, adapted, control.
  std::string model_of(const std::string& side) const;
  // Folder or file, for the records of every side.
  Result<std::string> tokenizer() const;

  Json records_inputs(const AdaptSide& side, int64_t max_seq_length) const;
  Json pretrain_inputs(const AdaptSide& side, const PretrainStage& stage) const;
  Json runs_inputs() const;
  // Lengths do not depend on how many records there are.
  Result<int64_t> max_seq_length();

 private:
  Adaptation(FileSystem& files, const AdaptOptions& given, std::string runs, StageLedger opened)
      : fs(files), options(given), run_options(std::move(runs)), ledger(std::move(opened)) {}
  Result<> read_task();

  std::unique_ptr<Json> sizes_;
};

std::string records_stage(const AdaptSide& side);
std::string pretrain_stage_name(const AdaptSide& side);
std::string model_stage(const std::string& side);
inline constexpr const char* kRunsStage = "comparison";

// The number of examples in the records of a side; 0 where there are none.
Result<int64_t> count_examples(FileSystem& fs, const std::string& records);

}  // namespace headwater
