// The graphs of training around any loss: one step as a whole (forward, backward, clipping,
// optimizer), the same in two halves for gradient accumulation, and the forward pass alone.
//
// What is trained comes as a function that adds a forward pass; ELECTRA's is train_step.h, that of
// a model by its architecture model_step.h. Nothing here knows a model, a device or a batch.
#pragma once

#include <array>
#include <functional>

#include "graph/graph.h"
#include "models/scope.h"
#include "train/optimizer.h"

namespace headwater {

struct ForwardPass {
  Value loss;  // f32 scalar: what is trained
  // f32 scalars that are reported. Where totals are given, the parts that this batch has in them.
  std::vector<std::pair<std::string, Value>> losses;
  // Sums over the batch (scalars), and values by row of the batch (all others).
  std::vector<std::pair<std::string, Value>> outputs;
};

// How replicas, each with its rows of a batch, take one step together.
enum class GradientSync {
  // The losses of all replicas are divided by the totals of the whole batch, so that the sum of
  // their gradients is that of the undivided batch; it is clipped as a whole.
  kMeanThenGlobalClip,
  // What google's BERT and ELECTRA do on a TPU: each replica's loss is a mean over its own rows,
  // its gradient is clipped by its own norm, and the clipped gradients are added, not averaged.
  kSumOfLocalClip,
};
inline constexpr std::array<std::string_view, 2> kGradientSyncNames = {"mean-then-global-clip",
                                                                       "sum-of-local-clip"};
GradientSync gradient_sync_of(std::string_view name);  // one of kGradientSyncNames

struct StepParts {
  // Adds feeds, parameters and a forward pass. `training`: with dropout. Throws GraphError.
  std::function<ForwardPass(ParameterTree& tree, bool training)> forward;
  // Parameters that a step changes; null: all. One that the loss does not hang on stays as it is in
  // any case.
  std::function<bool(std::string_view parameter)> is_trained;
  // The graph is that of one of so many replicas. With kMeanThenGlobalClip the forward pass must
  // take given totals.
  int64_t replicas = 1;
  GradientSync sync = GradientSync::kMeanThenGlobalClip;
};

struct BuiltGraph {
  std::vector<Parameter> parameters;  // values belong to the graph that was built into
  std::map<std::string, std::string> aliases;
};

// All add to an empty graph; kInvalidArgument with the place in the model when sizes do not fit.
// State: every parameter by name. A training step has "learning_rate" and the other
// optimizer_feeds() as feeds, "grad_norm" (before clipping) as a further output, and the slots of
// trained parameters as state.
Result<BuiltGraph> build_train_graph(const StepParts& parts, const OptimizerOptions& optimizer,
                                     Graph& graph);
// `averaged`: of the moving averages of the parameters (ema_name) instead of themselves.
Result<BuiltGraph> build_eval_graph(const StepParts& parts, Graph& graph, bool averaged = false);
// The step without its optimizer: "grad/<name>" as outputs, dropout off. For tests and tools.
Result<BuiltGraph> build_gradient_graph(const StepParts& parts, Graph& graph);

// With several replicas, losses and sums are those of all; of what is by row, each has its own.
//
// A step over several batches: the accumulation graph adds this batch's gradients (of losses
// divided by given totals) to the state "<name>#gradient", times the feed `keep` f32 [] before (0
// starts a new sum); the update graph clips the sum and updates. Both together equal
// build_train_graph on the undivided batch, but for dropout bits.
Result<BuiltGraph> build_accumulate_graph(const StepParts& parts, Graph& graph);
Result<BuiltGraph> build_update_graph(const StepParts& parts, const OptimizerOptions& optimizer,
                                      Graph& graph);

std::string gradient_name(std::string_view parameter);  // of the accumulated gradient

}  // namespace headwater
