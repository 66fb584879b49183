#include "kernels/embedding.h"

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

TEST(Embedding, TokensSumWordPositionAndType) {
  const int64_t batch = 3, time = 50, size = 37, n = batch * time * size;
  const Floats words = random_floats(20 * size, 1), positions = random_floats(time * size, 2);
  const Floats types = random_floats(2 * size, 3);
  const auto ids = random_ints(batch * time, 4, 20), type_ids = random_ints(batch * time, 5, 2);
  std::vector<double> expected, without_types;
  for (int64_t i = 0; i < batch * time; ++i)
    for (int64_t j = 0; j < size; ++j) {
      const auto at = static_cast<size_t>(i);
      const double x = double{words[static_cast<size_t>(ids[at] * size + j)]} +
                       double{positions[static_cast<size_t>(i % time * size + j)]};
      without_types.push_back(x);
      expected.push_back(x + double{types[static_cast<size_t>(type_ids[at] * size + j)]});
    }
  on_every_isa(
      [&] {
        Floats out(static_cast<size_t>(n)), plain(out.size());
        embed_tokens(batch, time, size, ids.data(), type_ids.data(),
                     {words.data(), positions.data(), types.data()}, out.data());
        embed_tokens(batch, time, size, ids.data(), nullptr, {words.data(), positions.data()},
                     plain.data());
        append(out, plain);
        return out;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, n), expected, 1e-6);
        expect_near(slice(out, n, n), without_types, 1e-6);
      });
}

// Few distinct ids make long runs that cross task borders; many make short ones.
void check_scatter(int64_t count, int32_t table_rows) {
  const int64_t size = 19;
  const Floats dy = random_floats(count * size, 1);
  const auto ids = random_ints(count, 2, table_rows);
  Floats gathered(dy.size());
  std::vector<double> expected(static_cast<size_t>(table_rows * size), 0.5);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < size; ++j)
      expected[static_cast<size_t>(ids[static_cast<size_t>(i)] * size + j)] +=
          double{dy[static_cast<size_t>(i * size + j)]};
  on_every_isa(
      [&] {
        Floats table(expected.size(), 0.5f);
        TestWorkspace workspace(scatter_add_rows_workspace_bytes(count));
        scatter_add_rows(count, size, ids.data(), dy.data(), table.data(), workspace.data());
        gather_rows(count, size, ids.data(), table.data(), gathered.data());
        for (int64_t i = 0; i < count * size; ++i) {
          const int64_t row = ids[static_cast<size_t>(i / size)];
          EXPECT_EQ(table[static_cast<size_t>(row * size + i % size)],
                    gathered[static_cast<size_t>(i)]);
        }
        return table;
      },
      [&](const Floats& table) { expect_near(table, expected, 1e-5); });
}

TEST(Embedding, ScatterAddIsTheTransposeOfGather) {
  check_scatter(0, 3);
  check_scatter(1, 1);
  check_scatter(500, 1);
  check_scatter(500, 3);
  check_scatter(700, 400);
}

TEST(Embedding, PositionGradient) {
  const int64_t batch = 5, time = 21, size = 11;
  const Floats dy = random_floats(batch * time * size, 1);
  std::vector<double> expected(static_cast<size_t>(time * size), 1.0);
  for (size_t i = 0; i < dy.size(); ++i) expected[i % expected.size()] += double{dy[i]};
  on_every_isa(
      [&] {
        Floats d(expected.size(), 1.0f);
        position_gradient(batch, time, size, dy.data(), d.data());
        return d;
      },
      [&](const Floats& d) { expect_near(d, expected, 1e-6); });
}

}  // namespace
}  // namespace headwater::kernels
