// The recorded models on XLA, through a CPU plugin: all outputs and gradients are the native
// executor's.
#include "executors/plugins.h"
#include "models/golden_model.h"

namespace headwater {
namespace {

TEST(ModelsOnXla, OutputsAndGradientsAreTheNativeOnes) {
  HW_SKIP_WITHOUT_WHEEL(pjrt::kCpuWheels[0]);
  const pjrt::OwnProgramCache cache;
  const std::string device = "pjrt:" + pjrt::wheel_path(pjrt::kCpuWheels[0]);
  for (const char* name : kGoldenModels) {
    SCOPED_TRACE(name);
    const TensorMap reference = read_reference(name);
    const auto native = run_golden_model(name, reference);
    const auto on_xla = run_golden_model(name, reference, device);
    double norm = 0;  // of all gradients: what is nothing but rounding is small beside it
    for (const auto& [key, tensor] : reference) {
      if (!key.starts_with("grad/")) continue;
      for (const float x : tensor.as<float>()) norm += double{x} * x;
    }
    norm = std::sqrt(norm);
    for (const GraphOutput& output : native->graph().outputs()) {
      const Tensor expected = native->fetch(output.name), found = on_xla->fetch(output.name);
      ASSERT_EQ(found.shape(), expected.shape()) << output.name;
      if (expected.dtype() != DType::kF32) {
        EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes())) << output.name;
        continue;
      }
      double difference = 0, size = 0;
      for (size_t i = 0; i < expected.as<float>().size(); ++i) {
        difference += std::pow(double{found.as<float>()[i]} - expected.as<float>()[i], 2);
        size += std::pow(double{expected.as<float>()[i]}, 2);
      }
      const double floor = output.name.starts_with("grad/") ? 0.01 * norm : 1e-3;
      EXPECT_LT(std::sqrt(difference), 1e-5 * std::max(std::sqrt(size), floor)) << output.name;
    }
  }
}

}  // namespace
}  // namespace headwater
