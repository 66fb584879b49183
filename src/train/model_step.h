// A training step of any model by its architecture (models/model.h): what it is asked, what is fed,
// what comes out, and the graphs of step_graph.h around it. ELECTRA's pair is train_step.h.
#pragma once

#include <optional>
#include <string_view>

#include "models/model.h"
#include "train/step_graph.h"

namespace headwater {

enum class Objective {
  kClm,             // the next token (Radford et al. 2019)
  kMlm,             // masked tokens (Devlin et al. 2019)
  kMlmNsp,          // and whether the second sentence is the next one
  kMlmSop,          // and whether the two sentences are in order (Lan et al. 2020): the same head
  kRtd,             // replaced tokens, of given labels (Clark et al. 2020)
  kClassification,  // of sequences: one label, several, or regression
  kTokenClassification,
  kQuestionAnswering,  // the first and the last token of an answer
};
std::string_view objective_name(Objective objective);  // "clm", "mlm", "mlm+nsp", ...
std::optional<Objective> find_objective(std::string_view name);
// What the architecture is trained for by itself; none for one without a head.
std::optional<Objective> default_objective(Architecture architecture);
// kInvalidArgument, with the architectures that have it, where the model lacks the objective's
// head.
Result<> check_objective(const Model& model, Objective objective);
bool predicts_sentences(Objective objective);  // mlm+nsp, mlm+sop
bool asks_classes(Objective objective);        // the last three

// What the batches of one graph have in common: sizes, and which optional features they bring.
struct ModelBatchShape {
  int64_t batch_size = 0, seq_length = 0;
  int64_t label_positions = 0;  // N: labels of N positions per row; 0: labels of every token
  bool attention_mask = false, token_type_ids = false, position_ids = false, document_ids = false;
  bool labels = true;  // clm: false where the tokens themselves are the labels
  bool label_weights = false;
  friend bool operator==(const ModelBatchShape&, const ModelBatchShape&) = default;
};

struct ModelStepOptions {
  Model model;
  Objective objective = Objective::kClm;
  double label_smoothing = 0;  // in [0, 1): of the loss that is trained, not of what is reported
  // Parameters that are not trained: all whose name begins with one of these.
  std::vector<std::string> frozen;
};

// Fed: input_ids and, as the shape says, attention_mask, token_type_ids, position_ids, document_ids
// i32 [B, T];
// labels and, of classifiers, label_weights as ModelInputs has them, label_positions i32 [B, N]; of
// sentence objectives next_sentence_label i32 [B]; key u32 [2]; with `given_totals` label_total and
// (sentence objectives) next_sentence_total f32 [], which replace the counts of this batch's
// labels.
//
// Outputs: loss, what is trained; label_loss, label_correct (not of regressions) and label_count:
// sums over the labels that count, so that batches can be added up; of sentence objectives the same
// as sentence_loss, sentence_correct, sentence_count; of classifiers logits as ModelOutputs has
// them. Padding (mask 0, and labels under 0) is in none of them.
StepParts model_step(const ModelStepOptions& options, const ModelBatchShape& shape,
                     bool given_totals = false);

}  // namespace headwater
