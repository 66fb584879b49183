#include "kernels/adam.h"

#include <cmath>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

void check(AdamOptions options, bool bias_correction = false) {
  const int64_t n = 20'011;
  const Floats weight = random_floats(n, 1), gradient = random_floats(n, 2);
  std::vector<double> w(weight.begin(), weight.end()), m(w.size()), v(w.size());
  for (int t = 1; t <= 3; ++t)
    for (size_t i = 0; i < w.size(); ++i) {
      const double g = double{options.gradient_scale} * double{gradient[i]} * t;
      m[i] = double{options.beta1} * m[i] + (1.0 - double{options.beta1}) * g;
      v[i] = double{options.beta2} * v[i] + (1.0 - double{options.beta2}) * g * g;
      const double mc = bias_correction ? m[i] / (1.0 - std::pow(double{options.beta1}, t)) : m[i];
      const double vc = bias_correction ? v[i] / (1.0 - std::pow(double{options.beta2}, t)) : v[i];
      const double u =
          mc / (std::sqrt(vc) + double{options.eps}) + double{options.weight_decay} * w[i];
      w[i] -= double{options.learning_rate} * u;
    }
  on_every_isa(
      [&] {
        Floats out = weight, first(out.size()), second(out.size());
        for (int t = 1; t <= 3; ++t) {
          Floats g = gradient;
          for (auto& x : g) x *= static_cast<float>(t);
          if (bias_correction) {
            options.m_scale = static_cast<float>(1 / (1 - std::pow(options.beta1, t)));
            options.v_scale = static_cast<float>(1 / (1 - std::pow(options.beta2, t)));
          }
          adam_update(options, n, g.data(), out.data(), first.data(), second.data());
        }
        append(out, first);
        append(out, second);
        return out;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, n), w, 1e-6, "w");
        expect_near(slice(out, n, n), m, 1e-6, "m");
        expect_near(slice(out, 2 * n, n), v, 1e-6, "v");
      });
}

TEST(Adam, WithoutBiasCorrectionAsElectra) {
  check({.learning_rate = 1e-2f, .weight_decay = 0.01f, .gradient_scale = 0.3f});
}

TEST(Adam, WithBiasCorrectionAsAdamW) {
  check({.learning_rate = 1e-2f, .eps = 1e-8f, .weight_decay = 0.1f},
        /*bias_correction=*/true);
}

TEST(Adam, ZeroRateChangesMomentsOnly) {
  Floats w{1.0f, 2.0f}, m(2), v(2);
  const Floats g{0.5f, -0.5f};
  adam_update({.learning_rate = 0.0f, .weight_decay = 0.01f}, 2, g.data(), w.data(), m.data(),
              v.data());
  EXPECT_EQ((Floats{1.0f, 2.0f}), w);
  EXPECT_NE(0.0f, m[0]);
}

}  // namespace
}  // namespace headwater::kernels
