#include "kernels/elementwise.h"

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

TEST(Elementwise, Arithmetic) {
  const int64_t n = 40'003;
  const Floats a = random_floats(n, 1), b = random_floats(n, 2);
  std::vector<double> expected[5];
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    expected[0].push_back(x + y);
    expected[1].push_back(x * y);
    expected[2].push_back(-1.5 * x);
    expected[3].push_back(y + 0.25 * x);
    expected[4].push_back(1.0 / (1.0 + std::exp(-20.0 * x)));
  }
  on_every_isa(
      [&] {
        Floats out[5] = {a, Floats(a.size()), a, b, Floats(a.size())};
        add(a.data(), b.data(), out[0].data(), n);
        multiply(a.data(), b.data(), out[1].data(), n);
        scale(-1.5f, a.data(), out[2].data(), n);
        axpy(0.25f, a.data(), out[3].data(), n);
        scale(20.0f, a.data(), out[4].data(), n);
        sigmoid(out[4].data(), out[4].data(), n);
        for (int k = 1; k < 5; ++k) append(out[0], out[k]);
        return out[0];
      },
      [&](const Floats& out) {
        for (int k = 0; k < 5; ++k) expect_near(slice(out, k * n, n), expected[k], 1e-6);
      });
}

TEST(Elementwise, BiasAndFill) {
  const Floats x = random_floats(9 * 13, 1), bias = random_floats(13, 2);
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(double{x[i]} + double{bias[i % 13]});
  on_every_isa(
      [&] {
        Floats y(x.size());
        fill(3.0f, y.data(), 9 * 13);
        for (const float v : y) EXPECT_EQ(3.0f, v);
        add_bias(9, 13, bias.data(), x.data(), y.data());
        return y;
      },
      [&](const Floats& y) { expect_near(y, expected, 1e-6); });
}

TEST(Elementwise, Transpose) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {4, 4}, {5, 9}, {130, 67}}) {
    const Floats x = random_floats(rows * columns, 1);
    Floats expected(x.size());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        expected[static_cast<size_t>(c * rows + r)] = x[static_cast<size_t>(r * columns + c)];
    on_every_isa(
        [&, rows = rows, columns = columns] {
          Floats y(x.size());
          transpose(rows, columns, x.data(), y.data());
          return y;
        },
        [&](const Floats& y) { EXPECT_EQ(expected, y); });
  }
}

TEST(Elementwise, Softmax) {
  const int64_t rows = 33, columns = 77, n = rows * columns;
  const Floats x = random_floats(n, 1, -60.0f, 60.0f), dy = random_floats(n, 2);
  std::vector<double> y, dx;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0.0, mean = 0.0;
    const auto at = [&](int64_t c) { return static_cast<size_t>(r * columns + c); };
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(double{x[at(c)]});
    for (int64_t c = 0; c < columns; ++c) {
      y.push_back(std::exp(double{x[at(c)]}) / sum);
      mean += y.back() * double{dy[at(c)]};
    }
    for (int64_t c = 0; c < columns; ++c) dx.push_back(y[at(c)] * (double{dy[at(c)]} - mean));
  }
  on_every_isa(
      [&] {
        Floats out(x.size()), d(x.size());
        softmax_forward(rows, columns, x.data(), out.data());
        softmax_backward(rows, columns, out.data(), dy.data(), d.data());
        append(out, d);
        return out;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, n), y, 1e-6, "y");
        expect_near(slice(out, n, n), dx, 1e-6, "dx");
      });
}

}  // namespace
}  // namespace headwater::kernels
