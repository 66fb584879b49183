#include "executors/pjrt/stablehlo_writer.h"

#include <fmt/format.h>

#include "graph/op.h"
#include "ops/random.h"
#include "ops/registry.h"

namespace headwater {
namespace {

constexpr int64_t kMaxReplicas = 1 << 16;  // ops/random_bits.cc counts on it

// "%arg3_dense.weight": the number makes it unique, the name is for whoever reads the text.
std::string argument_name(size_t index, std::string_view name) {
  std::string text = fmt::format("%arg{}_", index);
  for (const char c : name) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_';
    text += is_word ? c : '_';
  }
  return text;
}

class Writer {
 public:
  Writer(const Graph& graph, const StableHloOptions& options)
      : graph_(graph), options_(options), names_(graph.nodes().size()) {}

  std::string run() {
    const std::string arguments = name_arguments();
    for (size_t id = 0; id < graph_.nodes().size(); ++id) emit(id);
    std::string names, types;
    const auto add = [&](Value value) {
      names += (names.empty() ? "" : ", ") + name_of(value);
      types += (types.empty() ? "" : ", ") + stablehlo_type(value.type());
    };
    for (const StateUpdate& update : graph_.updates()) add(update.value);
    for (const GraphOutput& output : graph_.outputs()) add(output.value);
    const std::string end = names.empty() ? "" : fmt::format(" {} : {}", names, types);
    return fmt::format(
        "module @headwater {{\n"
        "  func.func public @main(\n{}) -> ({}) {{\n"
        "{}    return{}\n"
        "  }}\n"
        "}}\n",
        arguments, types, lines_, end);
  }

 private:
  const std::string& name_of(Value value) const {
    return names_[static_cast<size_t>(value.node())][static_cast<size_t>(value.output())];
  }

  std::string name_arguments() {
    std::vector<std::string> attributes(graph_.nodes().size());
    for (size_t i = 0; i < graph_.updates().size(); ++i) {
      attributes[static_cast<size_t>(graph_.updates()[i].input.node())] =
          fmt::format(" {{tf.aliasing_output = {} : i32}}", i);
    }
    std::string text;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const GraphInput& input = graph_.inputs()[i];
      const auto id = static_cast<size_t>(input.value.node());
      names_[id] = {argument_name(i, input.name)};
      text += fmt::format("{}      {}: {}{}", i == 0 ? "" : ",\n", names_[id][0],
                          stablehlo_type(input.value.type()), attributes[id]);
    }
    return text;
  }

  void emit(size_t id) {
    const Node& node = graph_.nodes()[id];
    if (node.op == &kInputOp) return;
    if (node.op->stablehlo == nullptr)
      throw GraphError(fmt::format("operator {} has no StableHLO form", node.op->name));
    std::vector<std::string> inputs;
    for (const Value& input : node.inputs) inputs.push_back(name_of(input));
    HloContext context(node, std::move(inputs), options_, next_line_, lines_);
    node.op->stablehlo(context);
    names_[id] = std::move(context.outputs());
  }

  const Graph& graph_;
  const StableHloOptions& options_;
  std::vector<std::vector<std::string>> names_;  // [node][output]
  std::string lines_;
  int64_t next_line_ = 1;
};

}  // namespace

std::string stablehlo_text(const Graph& graph, const StableHloOptions& options) {
  if (options.num_replicas < 1 || options.num_replicas > kMaxReplicas)
    throw GraphError(fmt::format("{} replicas: wants 1 to {}", options.num_replicas, kMaxReplicas));
  Graph parts, primitives;
  decompose(graph, parts, [](const Op& op) { return &op == &op::fold_in; });
  join_fold_ins(parts, primitives);
  return Writer(primitives, options).run();
}

}  // namespace headwater
