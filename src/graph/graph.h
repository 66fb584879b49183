// The graph: a list of operator calls in topological order (SSA), with static shapes.
//
// The graph is data: it can be printed, read back, verified, differentiated (ops/gradient.h),
// rewritten and run by any executor. Nodes are immutable once added; equal calls (same operator,
// inputs, attributes) are one node from the start (hash-consing), which is sound because every
// operator is a pure function, random ones included: their bits depend on a key operand. A whole
// training step is one graph, optimizer included.
//
// Building throws GraphError (shapes are checked when an operator is called), so that mathematics
// stays readable; whoever builds a graph catches it once.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/tensor.h"
#include "graph/attrs.h"

namespace headwater {

struct Op;
class Graph;

class GraphError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Far beyond any memory, and small enough that no arithmetic on sizes overflows.
constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr size_t kMaxRank = 8;  // so that kernels keep extents and strides in arrays

struct Type {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t size() const { return element_count(shape); }
  int64_t byte_size() const { return size() * dtype_size(dtype); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  std::string text() const;  // f32[32,128]
  // False for types that no value can have: other dtypes than f32, i32, u32 and pred, negative
  // extents, more than kMaxElements elements.
  bool is_valid() const;
  friend bool operator==(const Type&, const Type&) = default;
};

// One output of one node. Cheap to copy; valid as long as its graph.
class Value {
 public:
  Value() = default;
  Value(Graph* graph, int32_t node, int32_t output) : graph_(graph), node_(node), output_(output) {}

  Graph& graph() const { return *graph_; }
  int32_t node() const { return node_; }
  int32_t output() const { return output_; }
  bool valid() const { return graph_ != nullptr; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  // Extent of an axis; negative axes count from the end.
  int64_t dim(int64_t axis) const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  Graph* graph_ = nullptr;
  int32_t node_ = -1;
  int32_t output_ = 0;
};

struct Node {
  const Op* op = nullptr;
  std::vector<Value> inputs;
  Attrs attrs;
  std::vector<Type> outputs;
  std::string scope;  // where in the model it was built, for messages
};

// A named input. State inputs (parameters, optimizer slots) live on the device between runs; others
// are fed.
struct GraphInput {
  std::string name;
  Value value;
  bool is_state = false;
};

// After a run the state input `input` holds `value`: its buffer is donated, so the update happens
// in place.
struct StateUpdate {
  Value input;
  Value value;
};

struct GraphOutput {
  std::string name;
  Value value;
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Names are unique over all inputs. Like all that build: throws GraphError.
  Value input(std::string name, Type type, bool is_state = false);
  // Calls an operator; returns its outputs.
  std::vector<Value> call(const Op& op, std::vector<Value> inputs, Attrs attrs = {});
  Value call1(const Op& op, std::vector<Value> inputs, Attrs attrs = {}) {
    return call(op, std::move(inputs), std::move(attrs))[0];
  }
  // Names are unique over all outputs.
  void output(std::string name, Value value);
  // At most once for each state input.
  void update(Value state_input, Value value);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int32_t id) const { return nodes_[static_cast<size_t>(id)]; }
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const std::vector<StateUpdate>& updates() const { return updates_; }
  const GraphInput* find_input(std::string_view name) const;
  // The input that a value of this graph is, or null.
  const GraphInput* input_of(Value value) const;

  // Scope path of the nodes that are being added ("discriminator/encoder/layer/3").
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

 private:
  void require_own(Value value, std::string_view user) const;

  std::vector<Node> nodes_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphOutput> outputs_;
  std::vector<StateUpdate> updates_;
  std::unordered_multimap<size_t, int32_t> by_hash_;
  std::unordered_map<std::string, size_t> input_by_name_;
  std::string scope_;
};

// Throws GraphError naming the node when the list is not in order or a type differs from what
// infer() gives.
void verify(const Graph& graph);

// A readable form that parse_graph() reads back to an equal graph. `find_op` looks an operator up
// by name and returns null for an unknown one. parse_graph() wants an empty graph; what it throws
// begins with the line number.
std::string print_graph(const Graph& graph);
void parse_graph(std::string_view text, const Op* (*find_op)(std::string_view), Graph& into);

// Copies into an empty graph what outputs and updates need (dead-code elimination). Nodes for which
// `replace` returns values are replaced by them (of the same types): it sees the node and its
// already copied inputs, and adds to `into`.
using Replacement = std::function<std::optional<std::vector<Value>>(
    const Node& node, const std::vector<Value>& inputs, Graph& into)>;
void rewrite(const Graph& from, Graph& into, const Replacement& replace = nullptr);

// Replaces fused operators by their decompositions, repeatedly, until only primitives and operators
// for which `keep` holds are left (null: primitives only).
void decompose(const Graph& from, Graph& into, bool (*keep)(const Op& op) = nullptr);

}  // namespace headwater
