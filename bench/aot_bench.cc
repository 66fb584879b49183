// The ELECTRA pre-training step, compiled for a TPU that is not there: what the compiler of libtpu
// says about it. The JAX side of the comparison takes the same sizes.
//
//   aot_bench --plugin LIBTPU.SO [--tpu v3-8] [--size base|small] [--batch B] [--length T]
//             [--float32]
//
// --batch counts the sequences of one device. Prints one JSON line: seconds of compilation, bytes
// of a device, the compiler's own estimate of a step (null where it has none), arithmetic.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "executors/pjrt/aot.h"
#include "executors/pjrt/stablehlo_writer.h"
#include "train/train_step.h"

namespace headwater {
namespace {

struct Arguments {
  std::string plugin, tpu = "v3-8", size = "base";
  int64_t batch = 32, length = 512;
  bool float32 = false;
};

ElectraGraphOptions options_of(const Arguments& a) {
  ElectraGraphOptions o;
  const bool small = a.size == "small";
  ElectraConfig& d = o.discriminator;
  d.vocab_size = 35000;
  d.embedding_size = small ? 128 : 768;
  d.hidden_size = small ? 256 : 768;
  d.num_attention_heads = d.hidden_size / 64;
  d.intermediate_size = 4 * d.hidden_size;
  o.generator = d;
  o.generator.hidden_size = small ? 64 : 256;
  o.generator.num_attention_heads = o.generator.hidden_size / 64;
  o.generator.intermediate_size = 4 * o.generator.hidden_size;
  o.sizes.batch_size = a.batch;
  o.sizes.seq_length = a.length;
  o.sizes.max_predictions = static_cast<int64_t>(0.155 * static_cast<double>(a.length));
  o.given_totals = true;
  return o;
}

std::string number_or_null(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "null";
}

Result<> compile(const Arguments& a) {
  HW_ASSIGN_OR_RETURN(const pjrt::TpuType type, pjrt::find_tpu_type(a.tpu));
  HW_ASSIGN_OR_RETURN(const pjrt::Plugin* const plugin,
                      pjrt::Plugin::open(a.plugin, pjrt::PluginUse::kAheadOfTime));
  HW_ASSIGN_OR_RETURN(const pjrt::Topology topology, pjrt::Topology::create(*plugin, type));
  Graph graph;
  StepParts parts = electra_step(options_of(a));
  parts.replicas = topology.num_devices();
  HW_RETURN_IF_ERROR(build_train_graph(parts, {}, graph));
  const std::string text =
      stablehlo_text(graph, {.num_replicas = topology.num_devices(), .mixed_bf16 = !a.float32});
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  HW_ASSIGN_OR_RETURN(const pjrt::Executable step,
                      topology.compile(text, {.num_replicas = topology.num_devices()}));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  HW_ASSIGN_OR_RETURN(const pjrt::AotFigures figures, pjrt::aot_figures(step));
  fmt::print(
      "{{\"tpu\": \"{}\", \"size\": \"{}\", \"batch\": {}, \"length\": {}, \"text_mb\": {:.1f}, "
      "\"compile_s\": {:.1f}, \"compile_cpu_s\": {:.1f}, \"arguments_gib\": {:.3f}, "
      "\"temporary_gib\": {:.3f}, \"peak_gib\": {:.3f}, \"device_gib\": {:.3f}, "
      "\"estimated_s\": {}, \"flops\": {}, \"serialized_mb\": {:.1f}}}\n",
      a.tpu, a.size, a.batch, a.length, static_cast<double>(text.size()) / 1e6, wall.count(), cpu,
      std::ldexp(figures.memory.arguments, -30), std::ldexp(figures.memory.temporary, -30),
      std::ldexp(figures.memory.peak, -30), std::ldexp(type.memory_bytes, -30),
      number_or_null(figures.seconds), number_or_null(figures.flops),
      static_cast<double>(figures.serialized_bytes) / 1e6);
  return {};
}

}  // namespace
}  // namespace headwater

int main(int argc, char** argv) {
  headwater::Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--float32") {
      a.float32 = true;
    } else if (i + 1 < argc) {
      const char* value = argv[++i];
      if (flag == "--plugin") a.plugin = value;
      if (flag == "--tpu") a.tpu = value;
      if (flag == "--size") a.size = value;
      if (flag == "--batch") a.batch = std::atoll(value);
      if (flag == "--length") a.length = std::atoll(value);
    }
  }
  if (const auto result = headwater::compile(a); !result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    return 1;
  }
  return 0;
}
