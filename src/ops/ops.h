// Building graphs: free functions on values, shapes checked when called (GraphError).
//
// Elementwise functions of two operands broadcast as NumPy does: extents are aligned at the right
// and must be equal or 1. Everything else wants exact shapes. B batch, T time, H hidden, N heads, V
// vocabulary.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace headwater {

// Elementwise on f32.
Value neg(Value x);
Value abs(Value x);
Value exp(Value x);
Value log(Value x);
Value log1p(Value x);  // ln(1 + x), exact for small x
Value sqrt(Value x);
Value rsqrt(Value x);
Value tanh(Value x);
Value erf(Value x);
Value logistic(Value x);  // 1 / (1 + e^-x)

// Elementwise on equal types: f32, i32, u32. Division of integers rounds towards zero.
Value add(Value a, Value b);
Value sub(Value a, Value b);
Value mul(Value a, Value b);
Value div(Value a, Value b);
inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator-(Value a, Value b) { return sub(a, b); }
inline Value operator*(Value a, Value b) { return mul(a, b); }
inline Value operator/(Value a, Value b) { return div(a, b); }
inline Value operator-(Value x) { return neg(x); }
Value maximum(Value a, Value b);
Value minimum(Value a, Value b);
// Bits of u32 (and pred for the first three). A shift by 32 or more gives 0.
Value bit_and(Value a, Value b);
Value bit_or(Value a, Value b);
Value bit_xor(Value a, Value b);
Value shift_left(Value a, Value b);
Value shift_right(Value a, Value b);

enum class Direction { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
Value compare(Value a, Value b, Direction direction);          // -> pred
Value select(Value condition, Value if_true, Value if_false);  // condition pred
Value convert(Value x, DType dtype);  // f32 -> integer rounds towards zero; pred -> 0 or 1
Value stop_gradient(Value x);

// Sources. constant() gives every element the same value.
Value constant(Graph& graph, double value, DType dtype = DType::kF32, Shape shape = {});
Value constant_like(Value x, double value);
Value iota(Graph& graph, DType dtype, Shape shape, int64_t axis);  // index along `axis`

// Shapes.
Value reshape(Value x, Shape shape);
// Axis i of x becomes axis axes[i] of the result (strictly ascending); the other axes repeat.
Value broadcast(Value x, Shape shape, std::vector<int64_t> axes);
Value broadcast_to(Value x, const Shape& shape);  // NumPy rules
Value transpose(Value x, std::vector<int64_t> permutation);
Value slice(Value x, std::vector<int64_t> start, std::vector<int64_t> limit);
Value pad(Value x, std::vector<int64_t> low, std::vector<int64_t> high);  // zeros
Value concat(const std::vector<Value>& parts, int64_t axis);
// A part of x, and x with a part replaced, at a place that is a value: one i32 scalar per axis. A
// start from which the part would reach out of x is moved until it does not.
Value dynamic_slice(Value x, const std::vector<Value>& starts, Shape shape);
Value dynamic_update_slice(Value x, Value part, const std::vector<Value>& starts);

// Reductions remove their axes. Negative axes count from the end.
Value reduce_sum(Value x, std::vector<int64_t> axes);
Value reduce_max(Value x, std::vector<int64_t> axes);
Value sum_all(Value x);
Value argmax(Value x, int64_t axis);  // -> i32, the lowest index of the largest element

// Products over the last two axes; leading axes (if any) are equal batch axes.
// a [.., M, K] (or [.., K, M] when transpose_a), b [.., K, N] (or [.., N, K] when transpose_b) ->
// [.., M, N].
Value dot(Value a, Value b, bool transpose_a = false, bool transpose_b = false);

// Rows of a table: table [V, H], ids i32 of any shape -> [ids.shape, H]. An id
// outside [0, V) reads the nearest row.
Value gather_rows(Value table, Value ids);
// Sum of rows [M, H] at ids [M] into zeros [num_rows, H]; f32 or i32. A row whose id is outside is
// dropped.
Value scatter_add_rows(Value ids, Value rows, int64_t num_rows);

// Data-parallel training: N replicas run one graph, each on its share of the batch. The sum over
// the replicas (see ops/all_reduce.cc for its gradient), and a replica's number, u32 [].
Value all_reduce(Value x);
Value replica_id(Graph& graph);

// The same values; what is computed from them is computed anew and not before all of them are
// there (ops/barrier.cc).
std::vector<Value> barrier(const std::vector<Value>& values);
// The same value, which is not computed a second time (ops/keep.cc).
Value keep(Value x);

// Random bits are a pure function of a key u32[2], as base/threefry.h, and of the index in the
// batch of all replicas (ops/random.h).
Value fold_in(Value key, int64_t data);
Value random_bits(Value key, Shape shape);     // -> u32
Value random_uniform(Value key, Shape shape);  // -> f32 in [0, 1)

// Fused operators.
// Zeroes each element with probability `rate`, scales the others by 1 / (1 - rate). `site`
// separates the streams of different places under one key (CRC32C of the scope path).
Value dropout(Value x, Value key, double rate, int64_t site);
// x Phi(x), Hendrycks & Gimpel 2016. kErf is exact: Phi = (1 + erf(x / sqrt 2)) / 2; kTanh, of
// GPT-2, has tanh(sqrt(2 / pi) (x + 0.044715 x^3)) for the error function.
enum class GeluForm { kErf, kTanh };
Value gelu(Value x, GeluForm form = GeluForm::kErf);
enum class WeightLayout {
  kOutIn,  // [N, K]: Hugging Face's Linear
  kInOut,  // [K, N]: Hugging Face's Conv1D (GPT-2)
};
// x [M, K], weight, bias [N] -> x weight^T + bias, [M, N].
Value linear(Value x, Value weight, Value bias, WeightLayout layout = WeightLayout::kOutIn);
// gelu(linear(x, weight, bias)) in one operator.
Value linear_gelu(Value x, Value weight, Value bias, GeluForm form = GeluForm::kErf,
                  WeightLayout layout = WeightLayout::kOutIn);
// Over the last axis, biased variance: (x - mean) / sqrt(var + eps) * gamma + beta (Ba et al.
// 2016).
Value layer_norm(Value x, Value gamma, Value beta, double eps);

struct ResidualLayerNormOptions {
  double eps = 1e-12;
  double dropout_rate = 0;
  int64_t site = 0;
};
// layer_norm(x + dropout(h)) of rows [M, H]: the post-norm residual of BERT in one operator.
Value residual_layer_norm(Value x, Value h, Value gamma, Value beta, Value key,
                          const ResidualLayerNormOptions& options);

struct AttentionOptions {
  int64_t num_heads = 1;
  double dropout_rate = 0;  // on the probabilities
  int64_t site = 0;
  bool causal = false;
  bool by_document = false;
};
// Multi-head attention (Vaswani et al. 2017): q, k, v [B, T, H], attention_mask i32 [B, T] (1 real,
// 0 padding: adds -10000 to the scores of a key, as google's BERT and ELECTRA), key u32[2] ->
// context [B, T, H]. By document, the mask holds a number of each token's document, and a token
// sees those of the same number only.
Value attention(Value q, Value k, Value v, Value attention_mask, Value key,
                const AttentionOptions& options);
// The same for T further tokens of sequences whose keys and values are kept: q [B, T, H], k, v
// [B, C, H], position i32 [] -> context [B, T, H]. Query i sees rows 0 .. position + i of k and v;
// a position from which the T tokens would reach out of C is moved until they do not.
Value cached_attention(Value q, Value k, Value v, Value position, int64_t num_heads);

struct VocabCrossEntropyOptions {
  double temperature = 1;         // of the samples
  bool disallow_correct = false;  // never sample the target
  bool sample = true;             // false: samples are the arg max
  int64_t site = 0;
};
struct VocabCrossEntropy {
  Value loss;        // f32 [M], -log p(target)
  Value prediction;  // i32 [M], arg max of the logits
  Value sample;      // i32 [M], arg max of logits / temperature + Gumbel noise (no gradient)
};
// Logits are h weight^T + bias and never stored as a whole: h [M, E], weight [V, E], bias [V],
// targets i32 [M].
VocabCrossEntropy vocab_cross_entropy(Value h, Value weight, Value bias, Value targets, Value key,
                                      const VocabCrossEntropyOptions& options);

// Elementwise -(y log s(x) + (1 - y) log(1 - s(x))) on logits x and labels y in [0, 1], stable for
// any x.
Value sigmoid_cross_entropy(Value logits, Value labels);

// sqrt of the sum of squares over all elements of all operands -> f32 scalar.
Value global_norm(const std::vector<Value>& values);

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0;
};
struct AdamUpdate {
  Value weight, m, v;
};
// f32 scalars that the moments are multiplied by where they make the update: 1 / (1 - beta^t)
// corrects their bias (Kingma & Ba 2015, section 3). Both or none.
struct AdamScales {
  Value m, v;
};
// One step of Adam with decoupled weight decay, epsilon outside the root; without scales as in
// google's BERT and ELECTRA. gradient is multiplied by grad_scale (clipping); learning_rate and
// grad_scale are scalars.
AdamUpdate adam_update(Value weight, Value m, Value v, Value gradient, Value grad_scale,
                       Value learning_rate, const AdamOptions& options,
                       const AdamScales& scales = {});

}  // namespace headwater
