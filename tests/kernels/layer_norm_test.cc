#include "kernels/layer_norm.h"

#include <cmath>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

struct Problem {
  LayerNormShape shape;
  Dropout dropout;
  Floats x, h, gamma, beta, dy;

  Problem(int64_t rows, int64_t size, float rate)
      : shape{rows, size, 1e-5f},
        dropout{Key::from_seed(9), rate, 1000},
        x(random_floats(rows * size, 1, -2.0f, 3.0f)),
        h(random_floats(rows * size, 2)),
        gamma(random_floats(size, 3, 0.5f, 1.5f)),
        beta(random_floats(size, 4)),
        dy(random_floats(rows * size, 5)) {}

  double factor(size_t i) const {
    if (!dropout.active()) return 1.0;
    return dropout.key.uniform(dropout.offset + i) < dropout.keep_prob()
               ? 1.0 / double{dropout.keep_prob()}
               : 0.0;
  }
};

struct Reference {
  std::vector<double> sum, y, mean, rstd, dx, dh, d_gamma, d_beta;
};

Reference reference(const Problem& p, bool residual) {
  const auto rows = static_cast<size_t>(p.shape.rows), size = static_cast<size_t>(p.shape.size);
  Reference r;
  r.d_gamma.resize(size);
  r.d_beta.resize(size);
  for (size_t m = 0; m < rows; ++m) {
    std::vector<double> s(size), n(size), g(size);
    double mean = 0.0, variance = 0.0, mean_g = 0.0, mean_gn = 0.0;
    for (size_t j = 0; j < size; ++j) {
      const size_t i = m * size + j;
      s[j] = double{p.x[i]} + (residual ? p.factor(i) * double{p.h[i]} : 0.0);
      mean += s[j] / static_cast<double>(size);
    }
    for (const double v : s) variance += (v - mean) * (v - mean) / static_cast<double>(size);
    const double rstd = 1.0 / std::sqrt(variance + double{p.shape.eps});
    for (size_t j = 0; j < size; ++j) {
      const double d = p.dy[m * size + j];
      n[j] = (s[j] - mean) * rstd;
      g[j] = d * double{p.gamma[j]};
      mean_g += g[j] / static_cast<double>(size);
      mean_gn += g[j] * n[j] / static_cast<double>(size);
      r.d_gamma[j] += d * n[j];
      r.d_beta[j] += d;
      r.y.push_back(n[j] * double{p.gamma[j]} + double{p.beta[j]});
    }
    for (size_t j = 0; j < size; ++j) {
      r.dx.push_back(rstd * (g[j] - mean_g - n[j] * mean_gn));
      r.dh.push_back(r.dx.back() * p.factor(m * size + j));
    }
    r.sum.insert(r.sum.end(), s.begin(), s.end());
    r.mean.push_back(mean);
    r.rstd.push_back(rstd);
  }
  return r;
}

Floats run_plain(const Problem& p) {
  const auto rows = static_cast<size_t>(p.shape.rows), size = static_cast<size_t>(p.shape.size);
  Floats y(p.x.size()), mean(rows), rstd(rows), dx(p.x.size()), d_gamma(size, NAN),
      d_beta(size, NAN);
  TestWorkspace workspace(layer_norm_backward_workspace_bytes(p.shape));
  layer_norm_forward(p.shape, p.x.data(), p.gamma.data(), p.beta.data(), y.data(), mean.data(),
                     rstd.data());
  layer_norm_backward(p.shape, p.x.data(), p.gamma.data(), mean.data(), rstd.data(), p.dy.data(),
                      dx.data(), 0.0f, d_gamma.data(), d_beta.data(), workspace.data());
  for (const Floats& part : {dx, d_gamma, d_beta, mean, rstd}) append(y, part);
  return y;
}

Floats run_residual(const Problem& p) {
  const auto rows = static_cast<size_t>(p.shape.rows), size = static_cast<size_t>(p.shape.size);
  Floats sum(p.x.size()), y(p.x.size()), mean(rows), rstd(rows), dx = p.dy, dh(p.x.size());
  Floats d_gamma(size, 1.0f), d_beta(size, 1.0f);
  TestWorkspace workspace(layer_norm_backward_workspace_bytes(p.shape));
  residual_layer_norm_forward(p.shape, p.x.data(), p.h.data(), p.dropout, p.gamma.data(),
                              p.beta.data(), sum.data(), y.data(), mean.data(), rstd.data());
  residual_layer_norm_backward(p.shape, sum.data(), p.dropout, p.gamma.data(), mean.data(),
                               rstd.data(), dx.data(), dx.data(), dh.data(), 1.0f, d_gamma.data(),
                               d_beta.data(), workspace.data());
  for (const Floats& part : {dx, d_gamma, d_beta, sum, dh}) append(y, part);
  return y;
}

void check(int64_t rows, int64_t size, float rate) {
  SCOPED_TRACE(testing::Message() << rows << " x " << size << " rate " << rate);
  const Problem p(rows, size, rate);
  const int64_t n = rows * size;
  const double tolerance = 2e-5;
  Reference r = reference(p, false);
  on_every_isa([&] { return run_plain(p); },
               [&](const Floats& out) {
                 expect_near(slice(out, 0, n), r.y, tolerance, "y");
                 expect_near(slice(out, n, n), r.dx, tolerance, "dx");
                 expect_near(slice(out, 2 * n, size), r.d_gamma, tolerance, "d_gamma");
                 expect_near(slice(out, 2 * n + size, size), r.d_beta, tolerance, "d_beta");
                 expect_near(slice(out, 2 * n + 2 * size, rows), r.mean, tolerance, "mean");
                 expect_near(slice(out, 2 * n + 2 * size + rows, rows), r.rstd, tolerance, "rstd");
               });
  r = reference(p, true);
  for (size_t j = 0; j < r.d_gamma.size(); ++j) r.d_gamma[j] += 1.0, r.d_beta[j] += 1.0;
  on_every_isa([&] { return run_residual(p); },
               [&](const Floats& out) {
                 expect_near(slice(out, 0, n), r.y, tolerance, "y");
                 expect_near(slice(out, n, n), r.dx, tolerance, "dx");
                 expect_near(slice(out, 2 * n, size), r.d_gamma, tolerance, "d_gamma");
                 expect_near(slice(out, 2 * n + size, size), r.d_beta, tolerance, "d_beta");
                 expect_near(slice(out, 2 * n + 2 * size, n), r.sum, tolerance, "sum");
                 expect_near(slice(out, 3 * n + 2 * size, n), r.dh, tolerance, "dh");
               });
}

TEST(LayerNorm, ForwardAndBackward) {
  check(1, 1, 0.0f);
  check(3, 7, 0.1f);
  check(5, 8, 0.0f);
  check(70, 33, 0.1f);
  check(130, 64, 0.2f);
  check(200, 256, 0.1f);
  check(9, 300, 0.5f);
}

TEST(LayerNorm, ConstantRowsStayFinite) {
  const Floats x(32, 4.0f), gamma(16, 1.0f), beta(16, 0.5f);
  Floats y(32), mean(2), rstd(2);
  layer_norm_forward({2, 16, 1e-12f}, x.data(), gamma.data(), beta.data(), y.data(), mean.data(),
                     rstd.data());
  for (const float v : y) EXPECT_EQ(0.5f, v);
  EXPECT_NEAR(1e6, double{rstd[0]}, 1.0);
}

}  // namespace
}  // namespace headwater::kernels
