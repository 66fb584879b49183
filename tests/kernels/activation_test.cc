#include "kernels/activation.h"

#include <cmath>
#include <limits>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

// Arguments over many magnitudes and both signs, with an odd count for the tail.
Floats arguments(float low, float high) {
  Floats x = random_floats(4001, 1, low, high);
  for (float magnitude = 1e-30f; magnitude < 1.0f; magnitude *= 10.0f) {
    if (magnitude <= high) x.push_back(magnitude);
    if (-magnitude >= low) x.push_back(-magnitude);
  }
  return x;
}

// Largest error in units of the last place of the result.
template <class F>
void check_ulp(const Floats& x, const Floats& y, const F& exact, double limit) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double e = exact(double{x[i]});
    const auto rounded = static_cast<float>(std::abs(e));
    const double ulp = std::max(double{std::nextafter(rounded, INFINITY)} - rounded, 1.2e-38);
    ASSERT_LE(std::abs(double{y[i]} - e) / ulp, limit) << "at " << x[i] << ": " << y[i];
  }
}

using ArrayKernel = void (*)(const float*, float*, int64_t);

template <class F>
void check_kernel(ArrayKernel kernel, const Floats& x, const F& exact, double limit) {
  on_every_isa(
      [&] {
        Floats y(x.size());
        kernel(x.data(), y.data(), static_cast<int64_t>(x.size()));
        return y;
      },
      [&](const Floats& y) { check_ulp(x, y, exact, limit); });
}

TEST(Activation, ElementaryFunctionsAreAccurate) {
  check_kernel(
      &exp, arguments(-87.0f, 88.5f), [](double x) { return std::exp(x); }, 1.5);
  check_kernel(
      &log, arguments(1.2e-38f, 1e4f), [](double x) { return std::log(x); }, 2.0);
  check_kernel(
      &log, arguments(0.5f, 2.0f), [](double x) { return std::log(x); }, 2.0);
  check_kernel(
      &erf, arguments(-5.0f, 5.0f), [](double x) { return std::erf(x); }, 2.0);
  check_kernel(
      &tanh, arguments(-10.0f, 10.0f), [](double x) { return std::tanh(x); }, 3.0);
}

TEST(Activation, ExpAtTheEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats x{-infinity, -1000.0f, 0.0f, 1000.0f, infinity, std::nanf("")};
  on_every_isa(
      [&] {
        Floats y(x.size());
        exp(x.data(), y.data(), 6);
        return y;
      },
      [&](const Floats& y) {
        EXPECT_EQ(0.0f, y[0]);
        EXPECT_EQ(0.0f, y[1]);
        EXPECT_EQ(1.0f, y[2]);
        EXPECT_EQ(infinity, y[3]);
        EXPECT_EQ(infinity, y[4]);
        EXPECT_TRUE(std::isnan(y[5]));
      });
}

struct ExactGelu {
  double value, derivative;
};
ExactGelu exact_gelu(GeluForm form, double x) {
  if (form == GeluForm::kErf) {
    const double phi = 0.5 * std::erfc(-x / std::sqrt(2.0));
    return {x * phi, phi + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI)};
  }
  const double root = std::sqrt(2 / M_PI), u = root * (x + 0.044715 * x * x * x);
  const double s = 1 / (1 + std::exp(-2 * u)), rest = 1 / (1 + std::exp(2 * u));
  return {x * s, s + 2 * x * s * rest * root * (1 + 3 * 0.044715 * x * x)};
}

void check_gelu(GeluForm form) {
  const Floats x = arguments(-12.0f, 12.0f);
  const auto n = static_cast<int64_t>(x.size());
  const Floats dy = random_floats(n, 2);
  std::vector<double> value, derivative, gradient;
  for (size_t i = 0; i < x.size(); ++i) {
    const ExactGelu exact = exact_gelu(form, x[i]);
    value.push_back(exact.value);
    derivative.push_back(exact.derivative);
    gradient.push_back(double{dy[i]} * exact.derivative);
  }
  on_every_isa(
      [&] {
        Floats y(x.size()), d(x.size()), dx(x.size());
        gelu_forward(form, x.data(), y.data(), d.data(), n);
        gelu_backward(form, x.data(), dy.data(), dx.data(), n);
        append(y, d);
        append(y, dx);
        return y;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, n), value, 3e-7, "value");
        expect_near(slice(out, n, n), derivative, 3e-7, "derivative");
        expect_near(slice(out, 2 * n, n), gradient, 3e-7, "gradient");
      });
}

TEST(Activation, GeluAndItsDerivative) {
  check_gelu(GeluForm::kErf);
  check_gelu(GeluForm::kTanh);
}

TEST(Activation, GeluOfHugeArguments) {
  const Floats x{-1e30f, -50.0f, 50.0f, 1e30f};
  for (const GeluForm form : {GeluForm::kErf, GeluForm::kTanh}) {
    on_every_isa(
        [&] {
          Floats y(x.size()), d(x.size());
          gelu_forward(form, x.data(), y.data(), d.data(), 4);
          append(y, d);
          return y;
        },
        [&](const Floats& out) {
          EXPECT_EQ(out, (Floats{0, 0, 50.0f, 1e30f, 0, 0, 1, 1}));
        });
  }
}

}  // namespace
}  // namespace headwater::kernels
