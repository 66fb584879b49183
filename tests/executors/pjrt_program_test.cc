// Programs as StableHLO text on the CPU plugins that are there: values, donation, replicas, errors,
// the cache. Every plugin in a process of its own (ctest runs test by test).
#include <gtest/gtest.h>

#include <numeric>

#include "executors/pjrt/program_cache.h"
#include "executors/plugins.h"
#include "io/memory_files.h"

namespace headwater::pjrt {
namespace {

class PjrtProgram : public testing::TestWithParam<const char*> {};

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cpu, PjrtProgram, testing::ValuesIn(kCpuWheels), test_name);

Tensor vector(std::vector<float> values) {
  return Tensor::f32({static_cast<int64_t>(values.size())}, values);
}
std::vector<float> floats(const Tensor& tensor) {
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

constexpr const char* kAdd = R"(
func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %w, %x : tensor<4xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
})";

std::string all_reduce(int64_t replicas) {
  std::vector<int64_t> group(static_cast<size_t>(replicas));
  std::iota(group.begin(), group.end(), 0);
  return fmt::format(R"(
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = "stablehlo.all_reduce"(%x) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }}) {{replica_groups = dense<[[{}]]> : tensor<1x{}xi64>,
       channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}})",
                     fmt::join(group, ", "), replicas);
}

TEST_P(PjrtProgram, ComputesWithItsTypesAndMemoryKnown) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const Client client = open_client(GetParam());
  EXPECT_EQ(client.platform(), "cpu");
  const auto outputs = run_text(client, kAdd, {{vector({1, 2, 3, 4}), vector({1, 1, 1, -4})}});
  EXPECT_EQ(floats(outputs[0][0]), (std::vector<float>{2, 3, 4, 0}));
  EXPECT_EQ(floats(outputs[0][1]), (std::vector<float>{4, 9, 16, 0}));
  const auto program = value_or_throw(client.compile(kAdd, client.options(1)));
  EXPECT_EQ(program.outputs(), (std::vector<Type>(2, Type{DType::kF32, {4}})));
  const MemoryStats stats = value_or_throw(program.executable().memory());
  EXPECT_EQ(stats.arguments, 32);
  EXPECT_GE(stats.outputs, 32);
  EXPECT_EQ(stats.aliased, 16);
}

TEST_P(PjrtProgram, EveryElementTypeGoesThereAndBack) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const Client client = open_client(GetParam());
  for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kPred, DType::kBF16}) {
    for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{2, 0}, Shape{0}}) {
      Tensor tensor(dtype, shape);
      for (int64_t i = 0; i < tensor.byte_size(); ++i)
        tensor.data()[i] = static_cast<uint8_t>(i % 2);
      const DeviceBuffer buffer = value_or_throw(client.put(tensor));
      const Tensor back = value_or_throw(buffer.to_host({dtype, shape}));
      EXPECT_TRUE(std::equal(back.bytes().begin(), back.bytes().end(), tensor.bytes().begin(),
                             tensor.bytes().end()))
          << Type{dtype, shape}.text();
    }
  }
}

TEST_P(PjrtProgram, ADonatedArgumentIsGone) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const Client client = open_client(GetParam());
  const auto program = value_or_throw(client.compile(kAdd, client.options(1)));
  const DeviceBuffer w = value_or_throw(client.put(vector({1, 2, 3, 4})));
  const DeviceBuffer x = value_or_throw(client.put(vector({1, 1, 1, 1})));
  auto run = value_or_throw(program.run({{w.get(), x.get()}}));
  ok_or_throw(run.done.wait());
  EXPECT_TRUE(value_or_throw(w.is_deleted()));
  EXPECT_FALSE(value_or_throw(x.is_deleted()));
  EXPECT_FALSE(program.run({{w.get(), x.get()}}));
  EXPECT_FALSE(w.to_host({DType::kF32, {4}}));
}

TEST_P(PjrtProgram, ReplicasSumTheirValues) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  for (const int64_t replicas : {1, 2, 4}) {
    const Client client = open_client(GetParam(), replicas);
    ASSERT_EQ(client.devices().size(), static_cast<size_t>(replicas));
    std::vector<std::vector<Tensor>> arguments;
    float sum = 0;
    for (int64_t i = 0; i < replicas; ++i) {
      const auto value = static_cast<float>(1 + 10 * i);
      sum += value;
      arguments.push_back({vector({value, 0, -value, 1})});
    }
    const auto outputs = run_text(client, all_reduce(replicas), arguments);
    for (const auto& of_replica : outputs) {
      EXPECT_EQ(floats(of_replica[0]),
                (std::vector<float>{sum, 0, -sum, static_cast<float>(replicas)}));
    }
  }
}

TEST_P(PjrtProgram, RefusedOnesGiveTheirFirstLine) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const Client client = open_client(GetParam());
  const auto syntax = client.compile("func.func public @main( {", client.options(1));
  ASSERT_FALSE(syntax);
  EXPECT_EQ(syntax.error().to_string().find('\n'), std::string::npos);
  EXPECT_EQ(syntax.error().to_string().find("Python"), std::string::npos);
  EXPECT_FALSE(client.compile(kAdd, CompileOptions{.num_replicas = 64}));
  const auto option = client.compile(kAdd, {.overrides = {{"xla_no_such_option", "1"}}});
  ASSERT_FALSE(option);
  EXPECT_NE(option.error().to_string().find("xla_no_such_option"), std::string::npos);
  const auto program = value_or_throw(client.compile(kAdd, client.options(1)));
  EXPECT_FALSE(program.run({{}}));  // no arguments
}

TEST_P(PjrtProgram, OfTheCacheRunsAsCompiled) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const Client client = open_client(GetParam(), 2);
  MemoryFileSystem fs;
  const ProgramCache cache(fs, "/cache");
  const std::string text = all_reduce(2);
  ASSERT_TRUE(compile_cached(client, cache, text, client.options(2)));
  const auto entries = fs.files();
  ASSERT_EQ(entries.size(), 1u);
  const std::string path = entries.begin()->first;
  std::vector<DeviceBuffer> buffers;
  for (size_t i : {0, 1}) buffers.push_back(value_or_throw(client.put(vector({1, 2, 3, 4}), i)));
  const auto check = [&] {
    const auto program = value_or_throw(compile_cached(client, cache, text, client.options(2)));
    auto run = value_or_throw(program.run({{buffers[0].get()}, {buffers[1].get()}}));
    ok_or_throw(run.done.wait());
    const Tensor sum = value_or_throw(run.outputs[1][0].to_host({DType::kF32, {4}}));
    EXPECT_EQ(floats(sum), (std::vector<float>{2, 4, 6, 8}));
  };
  check();  // a hit
  fs.put(path, "damaged");
  check();
  const std::string key = base_name(path).substr(0, 64);
  EXPECT_TRUE(cache.find(key));  // compiled anew, and kept
  // Whole, but not what the plugin can load.
  ASSERT_TRUE(cache.keep(key, "no program"));
  check();
}

TEST_P(PjrtProgram, KeysDifferByTextAndOptions) {
  HW_SKIP_WITHOUT_WHEEL(GetParam());
  const Client client = open_client(GetParam());
  const std::string key = program_key(client, "a", "b");
  EXPECT_EQ(program_key(client, "a", "b"), key);
  EXPECT_NE(program_key(client, "ab", ""), key);
  EXPECT_NE(program_key(client, "a", "c"), key);
}

// Under the address sanitizer: what a cycle leaves would be found. The program needs no code, so
// that the plugin's compiler does not take the time.
TEST(PjrtPrograms, CyclesLeaveNothing) {
  const char* const wheel = "lammps-jax-pjrt-cpu";
  HW_SKIP_WITHOUT_WHEEL(wheel);
  constexpr const char* kSwap = R"(
func.func public @main(%w: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %w : tensor<4xf32>, tensor<4xf32>
})";
  Client client = open_client(wheel);
  for (int i = 0; i < 100; ++i) {
    if (i % 25 == 0) client = open_client(wheel);
    const auto outputs = run_text(client, kSwap, {{vector({1, 2, 3, 4}), vector({0, 0, 0, 5})}});
    ASSERT_EQ(outputs[0][0].as<float>()[3], 5);
    ASSERT_EQ(outputs[0][1].as<float>()[3], 4);
  }
}

}  // namespace
}  // namespace headwater::pjrt
