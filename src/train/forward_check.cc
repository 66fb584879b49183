#include "train/forward_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/threefry.h"
#include "executors/executor.h"

namespace headwater {
namespace {

constexpr int64_t kRows = 2, kTokens = 32;

Tensor random_integers(const Shape& shape, int64_t below, Key key) {
  Tensor tensor(DType::kI32, shape);
  RandomStream random(key);
  for (int32_t& value : tensor.as<int32_t>())
    value = static_cast<int32_t>(random.below(static_cast<uint64_t>(below)));
  return tensor;
}

// 1 for a token; the second row ends at two thirds.
Tensor padded_mask(const Shape& shape) {
  Tensor mask(DType::kI32, shape);
  const int64_t length = shape[1], end = std::max<int64_t>(1, 2 * length / 3);
  for (int64_t t = 0; t < length; ++t) {
    mask.as<int32_t>()[static_cast<size_t>(t)] = 1;
    mask.as<int32_t>()[static_cast<size_t>(length + t)] = t < end ? 1 : 0;
  }
  return mask;
}

struct ForwardGraph {
  Graph graph;
  std::vector<std::string> outputs;
};

Result<std::vector<Parameter>> build(const Model& model, const Shape& tokens, ForwardGraph& built) {
  try {
    Graph& graph = built.graph;
    ParameterTree tree(graph);
    ModelInputs inputs;
    inputs.tokens.input_ids = graph.input("input_ids", {DType::kI32, tokens});
    inputs.tokens.attention_mask = graph.input("attention_mask", {DType::kI32, tokens});
    if (model.has_token_types())
      inputs.tokens.token_type_ids = graph.input("token_type_ids", {DType::kI32, tokens});
    ForwardContext context;
    context.key = graph.input("key", {DType::kU32, {2}});
    context.training = false;
    context.batch_size = tokens[0];
    context.seq_length = tokens[1];
    const ModelOutputs outputs = build_model(tree, model, inputs, context);
    for (const auto& [name, value] :
         {std::pair("hidden", outputs.hidden), std::pair("pooled", outputs.pooled),
          std::pair("logits", outputs.logits)}) {
      if (!value.valid()) continue;
      graph.output(name, value);
      built.outputs.emplace_back(name);
    }
    return tree.parameters();
  } catch (const GraphError& e) {
    return fail(Code::kInvalidArgument, "the model cannot be built: {}", e.what());
  }
}

}  // namespace

Result<std::vector<Tensor>> forward_outputs(const Model& model, const WeightReader& weights,
                                            uint64_t seed) {
  const Shape tokens{kRows, std::min(kTokens, model.max_positions())};
  ForwardGraph built;
  HW_ASSIGN_OR_RETURN(const std::vector<Parameter> parameters, build(model, tokens, built));
  HW_ASSIGN_OR_RETURN(const auto executor, Executor::open("cpu"));
  const auto store = executor->make_store();
  for (const Parameter& parameter : parameters) {
    HW_ASSIGN_OR_RETURN(const Tensor tensor, weights(parameter.name));
    HW_RETURN_IF_ERROR(store->set(parameter.name, tensor));
  }
  HW_ASSIGN_OR_RETURN(const auto program, executor->compile(built.graph, *store));
  const Key key = Key::from_seed(seed);
  HW_RETURN_IF_ERROR(
      program->feed("input_ids", random_integers(tokens, model.vocab_size(), key.fold_in("ids"))));
  HW_RETURN_IF_ERROR(program->feed("attention_mask", padded_mask(tokens)));
  if (model.has_token_types()) {
    const auto types = std::visit(
        [](const auto& config) -> int64_t {
          if constexpr (requires { config.type_vocab_size; }) return config.type_vocab_size;
          else return 1;
        },
        model.config);
    HW_RETURN_IF_ERROR(
        program->feed("token_type_ids", random_integers(tokens, types, key.fold_in("types"))));
  }
  HW_RETURN_IF_ERROR(program->feed("key", Tensor(DType::kU32, {2})));
  HW_RETURN_IF_ERROR(program->run());
  std::vector<Tensor> outputs;
  for (const std::string& name : built.outputs) {
    HW_ASSIGN_OR_RETURN(Tensor output, program->fetch(name));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

ForwardDifference compare_outputs(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ForwardDifference difference;
  const auto infinite = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return {infinite, infinite};
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape()) return {infinite, infinite};
    const auto x = a[i].as<float>(), y = b[i].as<float>();
    for (size_t k = 0; k < x.size(); ++k) {
      const double distance = std::fabs(static_cast<double>(x[k]) - static_cast<double>(y[k]));
      difference.largest = std::max(difference.largest, std::isnan(distance) ? infinite : distance);
      difference.scale = std::max(difference.scale, std::fabs(static_cast<double>(x[k])));
    }
  }
  return difference;
}

}  // namespace headwater
