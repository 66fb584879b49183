// Compiling for TPUs without hardware, by libtpu itself.
#include "executors/pjrt/aot.h"

#include <gtest/gtest.h>

#include "executors/plugins.h"

namespace headwater::pjrt {
namespace {

constexpr const char* kStep = R"(
func.func public @main(%w: tensor<256x256xf32> {tf.aliasing_output = 0 : i32},
                       %x: tensor<128x256xf32>) -> (tensor<256x256xf32>, tensor<f32>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
      : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<256x256xf32>
  %s = "stablehlo.all_reduce"(%g) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %t : tensor<f32>
  }) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}
      : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %w2 = stablehlo.add %w, %s : tensor<256x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<128x256xf32>, tensor<f32>) -> tensor<f32>
  return %w2, %loss : tensor<256x256xf32>, tensor<f32>
})";

TEST(TpuType, IsKnownByItsCloudName) {
  EXPECT_STREQ(value_or_throw(find_tpu_type("v3-8")).topology, "v3:2x2");
  EXPECT_STREQ(value_or_throw(find_tpu_type("v5litepod-8")).cloud_name, "v5e-8");
  for (const char* name : {"", "v3", "v9-8"}) {
    const auto unknown = find_tpu_type(name);
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().to_string().find("v6e-8"), std::string::npos);
  }
}

TEST(AheadOfTime, AStepCompilesForEveryTpu) {
  HW_SKIP_WITHOUT_WHEEL("libtpu");
  const Plugin* const plugin =
      value_or_throw(Plugin::open(wheel_path("libtpu"), PluginUse::kAheadOfTime));
  for (const TpuType& type : tpu_types()) {
    const Topology topology = value_or_throw(Topology::create(*plugin, type));
    EXPECT_EQ(topology.num_devices(), type.num_devices) << type.cloud_name;
    if (type.num_devices != 8) continue;
    const Executable step = value_or_throw(topology.compile(kStep, {.num_replicas = 8}));
    const AotFigures figures = value_or_throw(aot_figures(step));
    EXPECT_GE(figures.memory.arguments, 256 * 256 * 4 + 128 * 256 * 4) << type.cloud_name;
    EXPECT_GE(figures.memory.aliased, 256 * 256 * 4);
    EXPECT_GT(figures.memory.peak, 0);
    EXPECT_GT(figures.serialized_bytes, 1000);
    EXPECT_GT(figures.flops.value_or(1), 0);
  }
}

TEST(AheadOfTime, WhatDoesNotFitOrParseIsAnError) {
  HW_SKIP_WITHOUT_WHEEL("libtpu");
  const Plugin* const plugin =
      value_or_throw(Plugin::open(wheel_path("libtpu"), PluginUse::kAheadOfTime));
  const Topology topology =
      value_or_throw(Topology::create(*plugin, value_or_throw(find_tpu_type("v2-8"))));
  const auto large = topology.compile(R"(
func.func public @main(%x: tensor<65536x65536xf32>) -> tensor<65536x65536xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
      : (tensor<65536x65536xf32>, tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
  return %0 : tensor<65536x65536xf32>
})",
                                      {.num_replicas = 8});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kResourceExhausted) << large.error().to_string();
  EXPECT_FALSE(topology.compile("module {", {.num_replicas = 8}));
  TpuType none = value_or_throw(find_tpu_type("v2-8"));
  none.topology = "v99:2x2";
  EXPECT_FALSE(Topology::create(*plugin, none));
}

}  // namespace
}  // namespace headwater::pjrt
