// What an operator is: one record with everything about it, filled in by one file under ops/.
//
// Primitives have a gradient, a kernel and a StableHLO form; a fused operator has a decomposition
// that defines what it means and may have its own gradient and kernel. The battery under tests/ops
// checks the parts against each other.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace headwater {

class HloContext;

// What infer() sees: types of the operands and the attributes. What it throws says only what is
// wrong: the graph puts scope, operator and operand types in front.
struct InferContext {
  std::vector<Type> inputs;
  const Attrs& attrs;

  const Type& in(size_t i) const { return inputs[i]; }
  const Shape& shape(size_t i) const { return inputs[i].shape; }
  // Throws GraphError when the condition does not hold.
  void require(bool condition, std::string_view message) const;
  void require_count(size_t count) const;
  void require_dtype(size_t i, DType dtype) const;
  void require_rank(size_t i, int64_t rank) const;
  void require_same_type(size_t i, size_t j) const;
  // A shape that an attribute gives: at most kMaxRank extents, none negative, and
  // kMaxElements elements.
  void require_shape(const Shape& shape) const;
};

// What vjp() sees: the call and the gradient of each output (invalid where nothing depends on it).
struct VjpContext {
  const Node& node;
  std::vector<Value> outputs;
  std::vector<Value> output_grads;
  std::vector<bool> wanted;  // per input: is its gradient needed at all

  const Value& in(size_t i) const { return node.inputs[i]; }
  const Attrs& attrs() const { return node.attrs; }
  Graph& graph() const { return outputs[0].graph(); }
};

// What a kernel sees: buffers, types, attributes, and scratch memory of workspace() bytes (64-byte
// aligned).
class KernelContext {
 public:
  KernelContext(const Node& node, std::span<const Type* const> input_types,
                std::span<const uint8_t* const> inputs, std::span<uint8_t* const> outputs,
                std::span<uint8_t> workspace)
      : node_(node),
        input_types_(input_types),
        inputs_(inputs),
        outputs_(outputs),
        workspace_(workspace) {}

  template <class T>
  const T* in(size_t i) const {
    return reinterpret_cast<const T*>(inputs_[i]);
  }
  template <class T>
  T* out(size_t i) const {
    return reinterpret_cast<T*>(outputs_[i]);
  }
  size_t num_inputs() const { return inputs_.size(); }
  const Type& in_type(size_t i) const { return *input_types_[i]; }
  const Type& out_type(size_t i) const { return node_.outputs[i]; }
  const Attrs& attrs() const { return node_.attrs; }
  std::span<uint8_t> workspace() const { return workspace_; }

 private:
  const Node& node_;
  std::span<const Type* const> input_types_;
  std::span<const uint8_t* const> inputs_;
  std::span<uint8_t* const> outputs_;
  std::span<uint8_t> workspace_;
};

struct Cost {
  double flops = 0;
  double bytes = 0;
};

// An example call for the generated test battery.
struct Sample {
  std::vector<Type> inputs;
  Attrs attrs = {};
  // Integer operands are drawn from [0, index_bound): ids, positions. Floats from [low, high).
  int64_t index_bound = 4;
  double low = -2, high = 2;
  bool differentiable = true;  // false: no numeric gradient (integers, kinks, random bits)
};

struct Op {
  std::string_view name;
  // Types of the outputs. Throws GraphError on operands or attributes that do not fit.
  std::vector<Type> (*infer)(const InferContext&) = nullptr;
  // Gradients for the inputs, invalid where there is none. Null: by decomposition, or not
  // differentiable.
  std::vector<Value> (*vjp)(const VjpContext&) = nullptr;
  // Fused operators: the same outputs from other operators.
  std::vector<Value> (*decompose)(Graph&, const std::vector<Value>& inputs, const Attrs&) = nullptr;
  void (*cpu)(const KernelContext&) = nullptr;
  // Primitives: the same as lines of a StableHLO program (graph/stablehlo_context.h). Fused
  // operators have none and are decomposed.
  void (*stablehlo)(HloContext&) = nullptr;
  // Scratch bytes of the kernel, known when the graph is compiled.
  int64_t (*workspace)(const Node&, std::span<const Type* const> input_types) = nullptr;
  Cost (*cost)(const Node&, std::span<const Type* const> input_types) = nullptr;
  std::vector<Sample> (*samples)() = nullptr;

  // Pairs (output, input): the output may be written over the input's buffer when nobody reads it
  // afterwards.
  std::vector<std::pair<int, int>> in_place = {};
  // Output i is input i's bytes, perhaps under another shape; the executor copies nothing.
  bool is_view = false;
};

// The operator every graph input is (no operands; its attribute is the name).
extern const Op kInputOp;

}  // namespace headwater
