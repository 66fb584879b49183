// What stablehlo() of an operator's record sees: one call, the names that its operands have in the
// program text, and where its lines go. The program around the lines is written by
// executors/pjrt/stablehlo_writer.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace headwater {

struct StableHloOptions {
  int64_t num_replicas = 1;  // of the whole job
  // Products round their operands to bf16 and sum in f32, and what ops/keep.cc keeps stays in bf16;
  // all else is f32. Without it products are asked for full f32 precision.
  bool mixed_bf16 = false;
};

// "tensor<2x3xf32>"; with an element type that no graph value has: "tensor<2x3xbf16>".
std::string stablehlo_type(const Type& type);
std::string stablehlo_type(const Shape& shape, std::string_view element);
// "f32", "i32", "ui32" or "i1".
std::string_view stablehlo_element(DType dtype);
// "[0, 2]".
std::string stablehlo_list(std::span<const int64_t> values);

class HloContext {
 public:
  // `next_line` numbers the lines of a program, so that names are unique in it.
  HloContext(const Node& node, std::vector<std::string> inputs, const StableHloOptions& options,
             int64_t& next_line, std::string& text)
      : node_(node),
        inputs_(std::move(inputs)),
        outputs_(node.outputs.size()),
        options_(options),
        next_line_(next_line),
        text_(text) {}

  const std::string& in(size_t i) const { return inputs_[i]; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const Type& in_type(size_t i) const { return node_.inputs[i].type(); }
  const Type& out_type(size_t i) const { return node_.outputs[i]; }
  const Attrs& attrs() const { return node_.attrs; }
  const StableHloOptions& options() const { return options_; }
  std::string operand_types() const;  // "tensor<2xf32>, tensor<i32>"
  // "(types of the operands) -> type of output 0", which follows most operations.
  std::string signature() const;

  // Adds "%<operator>_<n> = <operation>" and returns the name of its result. With more than one
  // result the name wants "#0", "#1", .. behind it.
  std::string emit(std::string_view operation, size_t num_results = 1);
  // One value in all elements, of any type that a graph has; f32 is written by its bits, so that
  // it is exact and may be infinite or NaN.
  std::string constant(double value, const Type& type);
  // A block of one operation on two scalars, for reductions.
  static std::string reducer(std::string_view operation, DType dtype);

  // What an output is called. emit_output() is for operators of one output and one operation.
  void set_output(size_t i, std::string name) { outputs_[i] = std::move(name); }
  void emit_output(std::string_view operation) { set_output(0, emit(operation)); }
  std::vector<std::string>& outputs() { return outputs_; }

  // A number that no other channel of the program has.
  int64_t new_channel() { return next_line_; }

 private:
  const Node& node_;
  std::vector<std::string> inputs_, outputs_;
  const StableHloOptions& options_;
  int64_t& next_line_;
  std::string& text_;
};

// The output is the first operand.
void stablehlo_identity(HloContext& c);

}  // namespace headwater
