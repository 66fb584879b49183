// Rows of a table by id. An id outside the table is brought to the nearest row (as XLA's gather
// does), so that no input can read foreign memory; the pipeline reports such ids by file and record
// before they get here.
#include <algorithm>
#include <cstring>

#include "ops/elementwise.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_rank(0, 2);
  c.require_dtype(1, DType::kI32);
  c.require(c.in(0).dtype == DType::kF32 || c.in(0).dtype == DType::kI32,
            "the table must be f32 or i32");
  c.require(c.shape(0)[0] > 0, "the table has no rows");
  Shape shape = c.shape(1);
  shape.push_back(c.shape(0)[1]);
  return {Type{c.in(0).dtype, shape}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const Value ids = reshape(c.in(1), {c.in(1).type().size()});
  const Value rows = reshape(c.output_grads[0], {ids.dim(0), c.in(0).dim(1)});
  return {scatter_add_rows(ids, rows, c.in(0).dim(0)), Value()};
}

void cpu(const KernelContext& c) {
  const int64_t num_rows = c.in_type(0).shape[0];
  const auto row_bytes = static_cast<size_t>(c.in_type(0).shape[1] * 4);
  const auto* table = c.in<uint8_t>(0);
  const auto* ids = c.in<int32_t>(1);
  auto* out = c.out<uint8_t>(0);
  if (row_bytes == 0) return;
  parallel_for(c.in_type(1).size(), 64, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(std::clamp<int64_t>(ids[i], 0, num_rows - 1));
      std::memcpy(out + static_cast<size_t>(i) * row_bytes, table + row * row_bytes, row_bytes);
    }
  });
}

std::vector<Sample> samples() {
  return {{.inputs = {{DType::kF32, {5, 3}}, {DType::kI32, {2, 4}}}, .index_bound = 5},
          {.inputs = {{DType::kF32, {5, 3}}, {DType::kI32, {0}}}, .index_bound = 5},
          {.inputs = {{DType::kI32, {5, 1}}, {DType::kI32, {4}}},
           .index_bound = 5,
           .differentiable = false}};
}

void stablehlo(HloContext& c) {
  const int64_t ids_rank = c.in_type(1).rank();
  c.emit_output(fmt::format(
      "\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = [{}], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {}>, "
      "slice_sizes = array<i64: 1, {}>, indices_are_sorted = false}} : {}",
      c.in(0), c.in(1), ids_rank, ids_rank, c.in_type(0).shape[1], c.signature()));
}

}  // namespace

const Op op::gather_rows = {.name = "gather_rows",
                            .infer = infer,
                            .vjp = vjp,
                            .cpu = cpu,
                            .stablehlo = stablehlo,
                            .cost = elementwise_cost,
                            .samples = samples};

Value gather_rows(Value table, Value ids) {
  return table.graph().call1(op::gather_rows, {table, ids});
}

}  // namespace headwater
