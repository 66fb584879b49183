#include "kernels/gemm.h"

#include <cmath>

#include "kernel_testing.h"
#include "kernels/linear.h"

namespace headwater::kernels {
namespace {

struct Case {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  float alpha, beta;
};

double at(const Floats& x, int64_t ld, bool transposed, int64_t row, int64_t column) {
  return x[static_cast<size_t>(transposed ? column * ld + row : row * ld + column)];
}

std::vector<double> reference(const Case& c, const Floats& a, int64_t lda, const Floats& b,
                              int64_t ldb, const Floats& old, int64_t ldc) {
  std::vector<double> out(old.begin(), old.end());
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = 0.0;
      for (int64_t p = 0; p < c.k; ++p)
        sum += at(a, lda, c.transpose_a, i, p) * at(b, ldb, c.transpose_b, p, j);
      double& v = out[static_cast<size_t>(i * ldc + j)];
      v = double{c.alpha} * sum + (c.beta == 0.0f ? 0.0 : double{c.beta} * v);
    }
  return out;
}

void check(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " x " << c.k
                                  << (c.transpose_a ? " At" : "") << (c.transpose_b ? " Bt" : ""));
  const int64_t lda = (c.transpose_a ? c.m : c.k) + 3, ldb = (c.transpose_b ? c.k : c.n) + 1;
  const int64_t ldc = c.n + 5;
  const Floats a = random_floats((c.transpose_a ? c.k : c.m) * lda, 1);
  const Floats b = random_floats((c.transpose_b ? c.n : c.k) * ldb, 2);
  const Floats old = random_floats(c.m * ldc, 3);
  const auto expected = reference(c, a, lda, b, ldb, old, ldc);
  on_every_isa(
      [&] {
        Floats out = old;
        TestWorkspace workspace(gemm_workspace_bytes(c.m, c.n, c.k, c.transpose_a));
        gemm(c.m, c.n, c.k, c.alpha, {a.data(), lda, c.transpose_a}, {b.data(), ldb, c.transpose_b},
             c.beta, out.data(), ldc, workspace.data());
        return out;
      },
      [&](const Floats& out) {
        expect_near(out, expected, 1e-6 * std::sqrt(static_cast<double>(c.k + 1)));
      });
}

TEST(Gemm, AllTranspositionsAndOddSizes) {
  const int64_t sizes[][3] = {{1, 1, 1},    {6, 16, 8},   {7, 17, 9},    {12, 32, 64},
                              {13, 33, 65}, {5, 100, 3},  {100, 5, 300}, {61, 47, 257},
                              {1, 40, 70},  {97, 1, 128}, {2, 3, 1030}};
  for (const auto& s : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) check({s[0], s[1], s[2], ta, tb, 1.0f, 0.0f});
}

// Too few rows of A to pack B for: rows and columns of B beyond a step, a vector and a task.
TEST(Gemm, FewRows) {
  const int64_t sizes[][3] = {
      {1, 1100, 70}, {2, 515, 33}, {5, 7, 1200}, {6, 1030, 66}, {7, 90, 40}};
  for (const auto& s : sizes)
    for (const bool tb : {false, true}) {
      check({s[0], s[1], s[2], false, tb, 1.0f, 0.0f});
      check({s[0], s[1], s[2], false, tb, -0.5f, 2.0f});
    }
}

TEST(Gemm, AlphaAndBeta) {
  check({33, 29, 70, false, true, 0.5f, 1.0f});
  check({33, 29, 70, true, false, -2.0f, 0.25f});
  check({33, 29, 1100, true, false, 0.5f, -1.0f});
}

TEST(Gemm, LargeEnoughForManyTasks) {
  check({260, 140, 130, false, true, 1.0f, 0.0f});
  check({200, 190, 1500, true, false, 1.0f, 1.0f});
}

TEST(Gemm, WithoutDepthOnlyBetaAndEpilogueRemain) {
  const Floats bias{1.0f, 2.0f, 3.0f};
  Floats c{1.0f, 1.0f, 1.0f, 2.0f, 2.0f, 2.0f};
  TestWorkspace workspace(gemm_workspace_bytes(2, 3, 0));
  gemm(2, 3, 0, 1.0f, {nullptr, 1}, {nullptr, 3}, 2.0f, c.data(), 3, workspace.data(),
       {.bias = bias.data()});
  EXPECT_EQ((Floats{3.0f, 4.0f, 5.0f, 5.0f, 6.0f, 7.0f}), c);
}

TEST(Gemm, NanIsNotHidden) {
  Floats a(64, 1.0f), b(64, 1.0f), c(64, NAN);
  a[9] = NAN;
  TestWorkspace workspace(gemm_workspace_bytes(8, 8, 8));
  gemm(8, 8, 8, 1.0f, {a.data(), 8}, {b.data(), 8}, 0.0f, c.data(), 8, workspace.data());
  EXPECT_EQ(8.0f, c[0]);  // beta 0 does not read C
  EXPECT_TRUE(std::isnan(c[8]));
}

// v = GELU(x W^T + bias) * multiply + add, each part against the same in double.
void check_epilogue(GeluForm form, int64_t m = 77) {
  const int64_t n = 43, k = 300;
  const Floats x = random_floats(m * k, 1), w = random_floats(n * k, 2, -0.2f, 0.2f);
  const Floats bias = random_floats(n, 3), factor = random_floats(m * n, 4);
  const Floats addend = random_floats(m * n, 5);
  std::vector<double> value, derivative;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double v = bias[static_cast<size_t>(j)];
      for (int64_t p = 0; p < k; ++p) v += at(x, k, false, i, p) * at(w, k, true, p, j);
      const double root = std::sqrt(2 / M_PI), t = std::tanh(root * (v + 0.044715 * v * v * v));
      const bool erf = form == GeluForm::kErf;
      const double phi = erf ? 0.5 * std::erfc(-v / std::sqrt(2.0)) : 0.5 * (1 + t);
      const double slope = erf ? std::exp(-v * v / 2) / std::sqrt(2 * M_PI)
                               : 0.5 * (1 - t * t) * root * (1 + 3 * 0.044715 * v * v);
      derivative.push_back(phi + v * slope);
      const auto index = static_cast<size_t>(i * n + j);
      value.push_back(v * phi * double{factor[index]} + double{addend[index]});
    }
  on_every_isa(
      [&] {
        Floats y(static_cast<size_t>(m * n)), d(y.size());
        const LinearShape shape{m, k, n};
        TestWorkspace workspace(linear_workspace_bytes(shape));
        linear_forward(shape, x.data(), w.data(), y.data(), workspace.data(),
                       {bias.data(), true, d.data(), factor.data(), addend.data(), form});
        append(y, d);
        return y;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, m * n), value, 1e-5, "value");
        expect_near(slice(out, m * n, m * n), derivative, 1e-5, "derivative");
      });
}

TEST(Gemm, EpilogueInItsOrder) {
  check_epilogue(GeluForm::kErf);
  check_epilogue(GeluForm::kTanh, 3);
  check_epilogue(GeluForm::kTanh);
}

void check_linear_gradients(bool in_out) {
  const LinearShape shape{50, 21, 34, in_out};
  const Floats x = random_floats(shape.rows * shape.in, 1);
  const Floats w = random_floats(shape.in * shape.out, 2);
  const Floats dy = random_floats(shape.rows * shape.out, 3);
  const auto weight = [&](int64_t o, int64_t i) {
    return in_out ? i * shape.out + o : o * shape.in + i;
  };
  std::vector<double> dx(x.size()), dw(w.size()), db(static_cast<size_t>(shape.out));
  for (int64_t m = 0; m < shape.rows; ++m)
    for (int64_t o = 0; o < shape.out; ++o) {
      const double d = dy[static_cast<size_t>(m * shape.out + o)];
      db[static_cast<size_t>(o)] += d;
      for (int64_t i = 0; i < shape.in; ++i) {
        dx[static_cast<size_t>(m * shape.in + i)] += d * w[static_cast<size_t>(weight(o, i))];
        dw[static_cast<size_t>(weight(o, i))] += d * x[static_cast<size_t>(m * shape.in + i)];
      }
    }
  const auto nx = static_cast<int64_t>(dx.size()), nw = static_cast<int64_t>(dw.size());
  on_every_isa(
      [&] {
        Floats out(dx.size()), d_weight(dw.size()), d_bias(db.size());
        TestWorkspace workspace(linear_workspace_bytes(shape));
        linear_backward_input(shape, dy.data(), w.data(), 0.0f, out.data(), workspace.data());
        linear_backward_weight(shape, dy.data(), x.data(), 0.0f, d_weight.data(), d_bias.data(),
                               workspace.data());
        append(out, d_weight);
        append(out, d_bias);
        return out;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, nx), dx, 1e-5, "dx");
        expect_near(slice(out, nx, nw), dw, 1e-5, "dW");
        expect_near(slice(out, nx + nw, shape.out), db, 1e-5, "db");
      });
}

TEST(Linear, GradientsInBothLayouts) {
  check_linear_gradients(false);
  check_linear_gradients(true);
}

}  // namespace
}  // namespace headwater::kernels
