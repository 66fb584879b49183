// The graphs of ELECTRA pre-training: one training step as a whole (forward, losses, backward,
// clipping, optimizer), and the evaluation of a batch.
#pragma once

#include "graph/graph.h"
#include "models/electra.h"
#include "ops/ops.h"

namespace headwater {

struct BatchSizes {
  int64_t batch_size = 0, seq_length = 0, max_predictions = 0;
};

struct OptimizerOptions {
  AdamOptions adam;          // weight_decay applies to all but layer norms and biases
  double max_grad_norm = 1;  // of all gradients together; 0: no clipping
};

struct ElectraGraphOptions {
  ElectraConfig discriminator, generator;
  ElectraObjective objective;
  BatchSizes sizes;
  bool with_discriminator = true;  // false: the generator learns alone
  bool freeze_tables = false;      // the embedding tables are not trained
  // Feeds "mlm_weight_total", "disc_weight_total" f32 [] replace the sums of this batch's weights.
  bool given_totals = false;
  bool given_samples = false;  // a feed "sampled_ids" i32 [B N] replaces the drawn samples
};

// Fed: input_ids, input_mask, segment_ids, masked_input_ids i32 [B, T]; masked_lm_positions,
// masked_lm_ids i32 [B, N]; masked_lm_weights f32 [B, N]; key u32 [2]; for a training step also
// learning_rate f32 []. Outputs: mlm_loss, total_loss; mlm_slot_loss, mlm_predictions, samples [B
// N]; with a discriminator also disc_loss; disc_logits, is_fake, fake_ids [B, T]; for a training
// step grad_norm (before clipping). State: every parameter by name, and for a training step its
// moments "<name>#adam_m", "<name>#adam_v".
struct BuiltGraph {
  std::vector<Parameter> parameters;  // values belong to the graph that was built into
  std::map<std::string, std::string> aliases;
};

// All add to an empty graph; kInvalidArgument with the place in the model when sizes do not
// fit.
Result<BuiltGraph> build_train_graph(const ElectraGraphOptions& options,
                                     const OptimizerOptions& optimizer, Graph& graph);
Result<BuiltGraph> build_eval_graph(const ElectraGraphOptions& options, Graph& graph);
// The step without its optimizer: "grad/<name>" as outputs, dropout off. For tests and tools.
Result<BuiltGraph> build_gradient_graph(const ElectraGraphOptions& options, Graph& graph);

// A step over several batches: the gradient graph adds this batch's gradients (of losses divided by
// given totals) to the state "<name>#gradient", times the feed `keep` f32 [] before (0 starts a new
// sum); the update graph clips the sum and updates. Both together equal build_train_graph on the
// undivided batch, but for dropout bits.
Result<BuiltGraph> build_accumulate_graph(const ElectraGraphOptions& options, Graph& graph);
Result<BuiltGraph> build_update_graph(const ElectraGraphOptions& options,
                                      const OptimizerOptions& optimizer, Graph& graph);

// Adds clipping by the global norm `norm` and one Adam step for every parameter, as state updates.
void apply_optimizer(const std::vector<Parameter>& parameters, const std::vector<Value>& gradients,
                     Value norm, Value learning_rate, const OptimizerOptions& options);

// google's rule: a parameter whose name contains LayerNorm, layer_norm or bias is not decayed.
bool is_decayed(std::string_view parameter_name);

std::string adam_m_name(std::string_view parameter);
std::string adam_v_name(std::string_view parameter);
std::string gradient_name(std::string_view parameter);  // of the accumulated gradient

}  // namespace headwater
