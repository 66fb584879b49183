#include "kernels/attention.h"

#include <cmath>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

struct Problem {
  AttentionShape shape;
  Dropout dropout;
  bool masked;
  Floats q, k, v, d_context;
  std::vector<int32_t> mask;

  Problem(int64_t batch, int64_t time, int64_t heads, int64_t size, float rate, bool with_mask,
          bool causal = false, int64_t parts = 1, bool by_document = false)
      : shape{batch, time, heads, size, parts * heads * size, heads * size, causal, by_document},
        dropout{Key::from_seed(11), rate, 123456},
        masked(with_mask) {
    const int64_t n = batch * time * heads * size;
    q = random_floats(n * parts, 1);
    k = random_floats(n * parts, 2, -2.0f, 2.0f);
    v = random_floats(n * parts, 3);
    d_context = random_floats(n, 4);
    if (by_document) return;
    for (int64_t i = 0; i < batch * time; ++i)
      // Sequence b keeps its first time - b keys and loses every fifth; the last one loses all.
      mask.push_back(i / time + i % time < time && i % 5 != 4 &&
                     (batch == 1 || i / time != batch - 1));
  }
  // Documents of these lengths in every sequence, as far as they go; 0 behind them.
  static Problem packed(int64_t time, std::vector<int64_t> lengths, bool causal, float rate = 0) {
    Problem p(2, time, 2, 16, rate, false, causal, 1, true);
    for (int64_t b = 0; b < 2; ++b) {
      const size_t end = p.mask.size() + static_cast<size_t>(time);
      int32_t document = 0;
      for (const int64_t length : lengths) {
        ++document;
        for (int64_t i = 0; i < length && p.mask.size() < end; ++i) p.mask.push_back(document);
      }
      p.mask.resize(end, 0);
      std::ranges::rotate(lengths, lengths.begin() + 1);
    }
    return p;
  }

  const int32_t* key_mask() const { return masked || shape.by_document ? mask.data() : nullptr; }
};

struct Reference {
  std::vector<double> context, log_sum_exp, dq, dk, dv;
};

// Plain attention and its gradients, one head at a time, in double precision.
class PlainHead {
 public:
  PlainHead(const Problem& p, int64_t b, int64_t n, Reference& out)
      : p_(p), b_(b), n_(n), t_(p.shape.time), d_(p.shape.head_size), out_(out) {}

  void run() {
    for (int64_t i = 0; i < t_; ++i) run_query(i);
  }

 private:
  size_t qkv(int64_t t, int64_t j) const {
    return static_cast<size_t>((b_ * t_ + t) * p_.shape.qkv_stride + n_ * d_ + j);
  }
  size_t context(int64_t t, int64_t j) const {
    return static_cast<size_t>((b_ * t_ + t) * p_.shape.context_stride + n_ * d_ + j);
  }
  double factor(int64_t i, int64_t j) const {
    if (!p_.dropout.active()) return 1.0;
    const int64_t index = ((b_ * p_.shape.heads + n_) * t_ + i) * t_ + j;
    const float u = p_.dropout.key.uniform(p_.dropout.offset + static_cast<uint64_t>(index));
    return u < p_.dropout.keep_prob() ? 1.0 / double{p_.dropout.keep_prob()} : 0.0;
  }
  bool hidden(int64_t i, int64_t j) const {
    const auto document = [&](int64_t t) { return p_.mask[static_cast<size_t>(b_ * t_ + t)]; };
    return (p_.shape.causal && j > i) || (p_.shape.by_document && document(i) != document(j));
  }

  void run_query(int64_t i) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(d_));
    std::vector<double> s(static_cast<size_t>(t_), -INFINITY);
    double top = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < t_; ++j) {
      if (hidden(i, j)) continue;
      double score = 0.0;
      for (int64_t c = 0; c < d_; ++c) score += double{p_.q[qkv(i, c)]} * double{p_.k[qkv(j, c)]};
      const bool padding = p_.masked && p_.mask[static_cast<size_t>(b_ * t_ + j)] == 0;
      s[static_cast<size_t>(j)] = score * scale + (padding ? -10000.0 : 0.0);
      top = std::max(top, s[static_cast<size_t>(j)]);
    }
    for (const double score : s) sum += std::exp(score - top);
    out_.log_sum_exp[static_cast<size_t>((b_ * p_.shape.heads + n_) * t_ + i)] =
        top + std::log(sum);
    std::vector<double> dp(s.size());
    double mean = 0.0;
    for (int64_t j = 0; j < t_; ++j) {
      double& prob = s[static_cast<size_t>(j)];
      prob = std::exp(prob - top) / sum;
      const double f = factor(i, j);
      for (int64_t c = 0; c < d_; ++c) {
        const double d = p_.d_context[context(i, c)];
        out_.context[context(i, c)] += prob * f * double{p_.v[qkv(j, c)]};
        out_.dv[qkv(j, c)] += prob * f * d;
        dp[static_cast<size_t>(j)] += f * d * double{p_.v[qkv(j, c)]};
      }
      mean += prob * dp[static_cast<size_t>(j)];
    }
    for (int64_t j = 0; j < t_; ++j) {
      const double ds = s[static_cast<size_t>(j)] * (dp[static_cast<size_t>(j)] - mean) * scale;
      for (int64_t c = 0; c < d_; ++c) {
        out_.dq[qkv(i, c)] += ds * double{p_.k[qkv(j, c)]};
        out_.dk[qkv(j, c)] += ds * double{p_.q[qkv(i, c)]};
      }
    }
  }

  const Problem& p_;
  int64_t b_, n_, t_, d_;
  Reference& out_;
};

Reference reference(const Problem& p) {
  Reference r;
  r.context.resize(p.d_context.size());
  r.log_sum_exp.resize(static_cast<size_t>(p.shape.batch * p.shape.heads * p.shape.time));
  r.dq.resize(p.q.size());
  r.dk.resize(p.q.size());
  r.dv.resize(p.q.size());
  for (int64_t b = 0; b < p.shape.batch; ++b)
    for (int64_t n = 0; n < p.shape.heads; ++n) PlainHead(p, b, n, r).run();
  return r;
}

void check(const Problem& p) {
  SCOPED_TRACE(testing::Message() << p.shape.batch << " x " << p.shape.time << " heads "
                                  << p.shape.heads << " x " << p.shape.head_size);
  const Reference r = reference(p);
  const auto n = static_cast<int64_t>(r.context.size()),
             m = static_cast<int64_t>(r.log_sum_exp.size());
  const auto n3 = static_cast<int64_t>(p.q.size());
  on_every_isa(
      [&] {
        Floats out(r.context.size()), lse(r.log_sum_exp.size());
        Floats dq(p.q.size()), dk(p.q.size()), dv(p.q.size());
        TestWorkspace workspace(attention_workspace_bytes(p.shape));
        attention_forward(p.shape, p.q.data(), p.k.data(), p.v.data(), p.key_mask(), p.dropout,
                          out.data(), lse.data(), workspace.data());
        attention_backward(p.shape, p.q.data(), p.k.data(), p.v.data(), p.key_mask(), p.dropout,
                           lse.data(), p.d_context.data(), dq.data(), dk.data(), dv.data(),
                           workspace.data());
        for (const Floats& part : {lse, dq, dk, dv}) append(out, part);
        return out;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, n), r.context, 2e-6, "context");
        std::vector<double> lse = r.log_sum_exp;
        const bool offset = p.masked && p.shape.batch > 1;
        // Over padding alone the kernel leaves the offset out.
        if (offset)
          for (auto& value : lse) value += value < -5000.0 ? 10000.0 : 0.0;
        expect_near(slice(out, n, m), lse, 2e-6, "log_sum_exp");
        expect_near(slice(out, n + m, n3), r.dq, 1e-5, "dq");
        expect_near(slice(out, n + m + n3, n3), r.dk, 1e-5, "dk");
        expect_near(slice(out, n + m + 2 * n3, n3), r.dv, 1e-5, "dv");
      });
}

TEST(Attention, PlainShapes) {
  check({2, 16, 2, 8, 0.0f, false});
  check({1, 1, 1, 8, 0.0f, false});
  check({2, 33, 3, 24, 0.0f, false});
  check({1, 128, 2, 64, 0.0f, false});
  check({1, 20, 2, 5, 0.0f, false});
}

TEST(Attention, MaskAndDropout) {
  check({3, 16, 2, 8, 0.1f, true});
  check({2, 50, 2, 16, 0.5f, true});
  check({3, 128, 1, 64, 0.1f, true});
  check({1, 300, 1, 32, 0.1f, true});
}

TEST(Attention, Causal) {
  check({2, 16, 2, 8, 0.0f, false, true});
  check({1, 100, 2, 64, 0.1f, false, true});
  check({1, 130, 1, 20, 0.1f, true, true});
}

TEST(Attention, PackedDocuments) {
  for (const bool causal : {false, true}) {
    check(Problem::packed(16, {5, 3, 8}, causal));
    check(Problem::packed(20, {1, 2, 4}, causal));
    check(Problem::packed(130, {60, 1, 40}, causal, 0.1f));
    check(Problem::packed(200, {30, 70, 20, 50}, causal, 0.1f));
    check(Problem::packed(40, {100}, causal));
  }
}

// Numbers in any order: what is looked at is wider then, what comes out is right.
TEST(Attention, DocumentsThatDoNotStandTogether) {
  for (const bool causal : {false, true}) {
    Problem p(2, 70, 2, 8, 0.1f, false, causal, 1, true);
    p.mask = random_ints(140, 5, 4);
    check(p);
  }
}

TEST(Attention, ViewsOfOneProjection) { check({2, 40, 2, 16, 0.1f, true, false, 3}); }

}  // namespace
}  // namespace headwater::kernels
