#include "kernels/cached_attention.h"

#include <cmath>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

struct Problem {
  CachedAttentionShape shape;
  int64_t position;
  Floats q, k, v;

  Problem(int64_t batch, int64_t time, int64_t capacity, int64_t heads, int64_t size, int64_t at)
      : shape{batch, time, capacity, heads, size}, position(at) {
    q = random_floats(batch * time * heads * size, 1);
    k = random_floats(batch * capacity * heads * size, 2, -2.0f, 2.0f);
    v = random_floats(batch * capacity * heads * size, 3);
    // What stands behind the tokens is never looked at.
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t c = at + time; c < capacity; ++c)
        for (int64_t j = 0; j < heads * size; ++j) k[index(b, capacity, c, j)] = NAN;
  }
  size_t index(int64_t b, int64_t per_sequence, int64_t t, int64_t j) const {
    return static_cast<size_t>((b * per_sequence + t) * shape.heads * shape.head_size + j);
  }
};

// One head of one query in double precision.
void attend(const Problem& p, int64_t b, int64_t n, int64_t i, std::vector<double>& out) {
  const int64_t size = p.shape.head_size, keys = p.position + i + 1;
  std::vector<double> weights;
  double top = -INFINITY, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    double score = 0;
    for (int64_t c = n * size; c < (n + 1) * size; ++c)
      score += double{p.q[p.index(b, p.shape.time, i, c)]} *
               double{p.k[p.index(b, p.shape.capacity, j, c)]};
    weights.push_back(score / std::sqrt(static_cast<double>(size)));
    top = std::max(top, weights.back());
  }
  for (double& weight : weights) sum += weight = std::exp(weight - top);
  for (int64_t c = n * size; c < (n + 1) * size; ++c)
    for (int64_t j = 0; j < keys; ++j)
      out[p.index(b, p.shape.time, i, c)] +=
          weights[static_cast<size_t>(j)] / sum * double{p.v[p.index(b, p.shape.capacity, j, c)]};
}

void check(const Problem& p) {
  SCOPED_TRACE(testing::Message() << p.shape.batch << " x " << p.shape.time << " of "
                                  << p.shape.capacity << " at " << p.position);
  std::vector<double> expected(p.q.size());
  for (int64_t b = 0; b < p.shape.batch; ++b)
    for (int64_t n = 0; n < p.shape.heads; ++n)
      for (int64_t i = 0; i < p.shape.time; ++i) attend(p, b, n, i, expected);
  on_every_isa(
      [&] {
        Floats out(p.q.size());
        TestWorkspace workspace(cached_attention_workspace_bytes(p.shape));
        cached_attention(p.shape, p.q.data(), p.k.data(), p.v.data(), p.position, out.data(),
                         workspace.data());
        return out;
      },
      [&](const Floats& out) { expect_near(out, expected, 2e-6); });
}

TEST(CachedAttention, OneToken) {
  check({1, 1, 1, 1, 8, 0});
  check({1, 1, 40, 2, 64, 0});
  check({2, 1, 40, 3, 20, 31});
  check({1, 1, 300, 2, 64, 299});
}

TEST(CachedAttention, FewTokens) {
  check({2, 3, 20, 2, 16, 4});
  check({1, 2, 33, 1, 5, 31});
}

TEST(CachedAttention, BlocksOfTokens) {
  check({1, 4, 4, 2, 8, 0});
  check({2, 32, 64, 2, 16, 32});
  check({1, 32, 300, 2, 64, 77});
  check({1, 100, 150, 1, 20, 50});
}

}  // namespace
}  // namespace headwater::kernels
