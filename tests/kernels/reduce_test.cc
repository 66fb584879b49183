#include "kernels/reduce.h"

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

TEST(Reduce, ColumnSumsWithLeadingDimension) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {300, 70}, {1000, 33}}) {
    const int64_t ld = columns + 2;
    const Floats x = random_floats(rows * ld, 1), old = random_floats(columns, 2);
    std::vector<double> expected;
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0.5 * double{old[static_cast<size_t>(j)]};
      for (int64_t i = 0; i < rows; ++i) sum += double{x[static_cast<size_t>(i * ld + j)]};
      expected.push_back(sum);
    }
    on_every_isa(
        [&, rows = rows, columns = columns] {
          Floats out = old;
          TestWorkspace workspace(column_sums_workspace_bytes(rows, columns));
          column_sums(rows, columns, x.data(), ld, 0.5f, out.data(), workspace.data());
          return out;
        },
        [&](const Floats& out) { expect_near(out, expected, 1e-5); });
  }
}

TEST(Reduce, ColumnSumsDoNotReadWhatBetaZeroForgets) {
  const Floats x{1.0f, 2.0f};
  Floats out{NAN};
  TestWorkspace workspace(column_sums_workspace_bytes(2, 1));
  column_sums(2, 1, x.data(), 1, 0.0f, out.data(), workspace.data());
  EXPECT_EQ(3.0f, out[0]);
}

TEST(Reduce, SumsInDoublePrecision) {
  for (const int64_t n : {0, 1, 15, 16, 65536, 200'003}) {
    const Floats x = random_floats(n, 1), y = random_floats(n, 2);
    double total = 0.0, squares = 0.0, product = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      total += double{x[i]};
      squares += double{x[i]} * double{x[i]};
      product += double{x[i]} * double{y[i]};
    }
    on_every_isa(
        [&] {
          TestWorkspace workspace(sum_workspace_bytes(n));
          const double got[3] = {sum(x.data(), n, workspace.data()),
                                 sum_of_squares(x.data(), n, workspace.data()),
                                 dot(x.data(), y.data(), n, workspace.data())};
          EXPECT_NEAR(total, got[0], 1e-7);
          EXPECT_NEAR(squares, got[1], 1e-7);
          EXPECT_NEAR(product, got[2], 1e-7);
          Floats bits(6);
          std::memcpy(bits.data(), got, sizeof(got));
          return bits;
        },
        [](const Floats&) {});
  }
}

}  // namespace
}  // namespace headwater::kernels
