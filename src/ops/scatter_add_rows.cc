// Sums rows at their ids into zeros; an id outside [0, num_rows) is dropped (as XLA's scatter
// does). Each row of the result adds its contributions in the order of the operand, whatever the
// number of threads.
#include <algorithm>
#include <cstring>

#include "ops/elementwise.h"

namespace headwater {
namespace {

constexpr int64_t kRowBlock = 512;  // result rows per task

std::vector<Type> infer(const InferContext& c) {
  c.require_count(2);
  c.require_rank(0, 1);
  c.require_dtype(0, DType::kI32);
  c.require_rank(1, 2);
  c.require(c.in(1).dtype == DType::kF32 || c.in(1).dtype == DType::kI32,
            "rows must be f32 or i32");
  c.require(c.shape(0)[0] == c.shape(1)[0], "wants one id per row");
  const int64_t num_rows = c.attrs.get_int("num_rows");
  c.require(num_rows >= 0, "num_rows must not be negative");
  return {Type{c.in(1).dtype, {num_rows, c.shape(1)[1]}}};
}

std::vector<Value> vjp(const VjpContext& c) {
  const Value ids = c.in(0), dy = c.output_grads[0];
  const int64_t num_rows = dy.dim(0);
  if (num_rows == 0) return {Value(), constant_like(c.in(1), 0)};
  const Value rows = gather_rows(dy, ids);
  const Value found =
      bit_and(compare(ids, constant_like(ids, 0), Direction::kGreaterEqual),
              compare(ids, constant_like(ids, static_cast<double>(num_rows)), Direction::kLess));
  return {Value(), select(broadcast(found, rows.shape(), {0}), rows, constant_like(rows, 0))};
}

template <class T>
void scatter(const KernelContext& c) {
  const int64_t m = c.in_type(1).shape[0], width = c.in_type(1).shape[1];
  const int64_t num_rows = c.out_type(0).shape[0];
  const auto* ids = c.in<int32_t>(0);
  const T* rows = c.in<T>(1);
  T* out = c.out<T>(0);
  parallel_for(num_rows, kRowBlock, [=](int64_t begin, int64_t end) {
    std::fill(out + begin * width, out + end * width, T{});
    for (int64_t i = 0; i < m; ++i) {
      if (ids[i] < begin || ids[i] >= end) continue;
      T* target = out + ids[i] * width;
      const T* row = rows + i * width;
      for (int64_t j = 0; j < width; ++j) target[j] += row[j];
    }
  });
}

void cpu(const KernelContext& c) {
  if (c.out_type(0).dtype == DType::kF32) {
    scatter<float>(c);
  } else {
    scatter<uint32_t>(c);  // wraps around
  }
}

std::vector<Sample> samples() {
  return {
      {.inputs = {{DType::kI32, {6}}, {DType::kF32, {6, 3}}}, .attrs = {{"num_rows", int64_t{4}}}},
      {.inputs = {{DType::kI32, {6}}, {DType::kI32, {6, 1}}},
       .attrs = {{"num_rows", int64_t{4}}},
       .differentiable = false}};
}

void stablehlo(HloContext& c) {
  const Type& y = c.out_type(0);
  const std::string zeros = c.constant(0, y);
  c.emit_output(fmt::format(
      "\"stablehlo.scatter\"({}, {}, {}) {} {{scatter_dimension_numbers = #stablehlo.scatter<"
      "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
      "index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}} : "
      "({}, {}, {}) -> {}",
      zeros, c.in(0), c.in(1), HloContext::reducer("stablehlo.add", y.dtype), stablehlo_type(y),
      stablehlo_type(c.in_type(0)), stablehlo_type(c.in_type(1)), stablehlo_type(y)));
}

}  // namespace

const Op op::scatter_add_rows = {.name = "scatter_add_rows",
                                 .infer = infer,
                                 .vjp = vjp,
                                 .cpu = cpu,
                                 .stablehlo = stablehlo,
                                 .cost = elementwise_cost,
                                 .samples = samples};

Value scatter_add_rows(Value ids, Value rows, int64_t num_rows) {
  return ids.graph().call1(op::scatter_add_rows, {ids, rows}, {{"num_rows", num_rows}});
}

}  // namespace headwater
