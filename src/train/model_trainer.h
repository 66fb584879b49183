// Training of a model by its architecture: task_trainer.h for the step of model_step.h, on batches
// of any width. What a run does around it is not here.
#pragma once

#include <array>

#include "base/json.h"
#include "train/metrics.h"
#include "train/model_step.h"
#include "train/task_trainer.h"

namespace headwater {

struct ModelTrainerOptions {
  ModelStepOptions model;
  OptimizerOptions optimizer;
  int64_t accumulation_steps = 1;  // batches per optimizer step; their widths may differ
  GradientSync gradient_sync = GradientSync::kMeanThenGlobalClip;  // of several replicas
  uint64_t seed = 0;                                               // of first weights and dropout
  int64_t max_programs = 8;  // compiled graphs that are kept, one per shape of batches
};

// B rows of T tokens. What is empty is not fed. Rows that only fill up a batch have mask 0.
struct ModelBatch {
  int64_t step = 0;  // the batch's number
  int64_t batch_size = 0, seq_length = 0;
  std::vector<int32_t> input_ids;  // [B, T], as the four below
  std::vector<int32_t> attention_mask, token_type_ids, position_ids;
  std::vector<int32_t> document_ids;  // rows of several documents: 1, 2, .. in a row, 0 on padding
  // [B, T], with label_positions [B, N], of single-label classifiers [B], of answers [B, 2]; under
  // 0 where nothing is asked. clm: empty, where the tokens themselves are the labels.
  std::vector<int32_t> labels;
  std::vector<int32_t> label_positions;       // [B, N]
  std::vector<float> label_values;            // [B, L], of other classifiers
  std::vector<float> label_weights;           // of classifiers: what each label counts; empty: 1
  std::vector<int32_t> next_sentence_labels;  // [B], of sentence objectives
  int64_t tokens() const;                     // that are no padding
};

struct ModelStepResult {
  double loss = 0;       // what is trained
  double grad_norm = 0;  // before clipping
  bool finite() const;
  void add(const ModelStepResult& part) { loss += part.loss; }
};

// Means over the labels of all batches that were added.
class ModelMetrics {
 public:
  explicit ModelMetrics(Objective objective = Objective::kClm) : objective_(objective) {}
  struct Sums {
    double loss = 0, count = 0;
    std::optional<double> correct;  // none of a regression
  };
  void add_labels(const Sums& sums) { add(sums, label_loss_, label_accuracy_); }
  void add_sentences(const Sums& sums) { add(sums, sentence_loss_, sentence_accuracy_); }
  void add(const ModelMetrics& other);
  void reset() { *this = ModelMetrics(objective_); }
  // loss, perplexity (of language models), accuracy; next_sentence_ or sentence_order_loss and
  // _accuracy. Label smoothing is in none of them.
  MetricValues values() const;
  double label_count() const { return label_loss_.weight(); }
  // From now on the logits of classifiers are kept, batch after batch.
  void keep_logits() { keeps_logits_ = true; }
  bool keeps_logits() const { return keeps_logits_; }
  std::vector<float>& logits() { return logits_; }
  // What the means are made of, so that a run that was stopped goes on with them.
  Json sums() const;
  Result<> set_sums(const Json& sums);

 private:
  static void add(const Sums& sums, WeightedMean& loss, WeightedMean& accuracy);
  Objective objective_;
  std::array<WeightedMean*, 4> means();
  bool keeps_logits_ = false;
  std::vector<float> logits_;
  WeightedMean label_loss_, label_accuracy_, sentence_loss_, sentence_accuracy_;
};

// See TrainTask.
class ModelTask {
 public:
  using Options = ModelTrainerOptions;
  using Batch = ModelBatch;
  using Metrics = ModelMetrics;
  using StepResult = ModelStepResult;
  using BatchShape = ModelBatchShape;
  enum class Phase { kOnly };
  static constexpr Phase kEvaluatedPhase = Phase::kOnly;

  explicit ModelTask(const ModelTrainerOptions& options) : options_(options) {}

  Result<ParameterTypes> parameters() const;
  Phase phase(int64_t) const { return Phase::kOnly; }
  size_t max_programs() const;
  ModelBatchShape shape(const ModelBatch& batch) const;
  // Sizes, and that ids, positions and labels are in their ranges.
  Result<> check(const ModelBatch& batch) const;
  StepParts train_step(Phase phase, const ModelBatchShape& shape, bool given_totals) const;
  StepParts evaluation(const ModelBatchShape& shape, bool given_totals) const;
  Result<> feed(Program& program, const ModelBatch& batch) const;
  Scalars totals(std::span<const ModelBatch> batches) const;
  Result<ModelStepResult> collect(const Program& program, Phase phase, const ModelBatch& batch,
                                  ModelMetrics& metrics) const;

 private:
  bool has_label_values() const;                      // f32 labels
  double label_count(const ModelBatch& batch) const;  // their weights
  Result<> check_sizes(const ModelBatch& batch) const;
  Result<> check_labels(const ModelBatch& batch) const;

  ModelTrainerOptions options_;
};

using ModelTrainer = TaskTrainer<ModelTask>;
extern template class TaskTrainer<ModelTask>;

}  // namespace headwater
