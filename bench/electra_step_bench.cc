// One ELECTRA pre-training step on random ids, as the PyTorch side of the comparison has it:
// float32, dropout on, generator logits at the masked positions only.
//
//   electra_step_bench [--size small|base] [--batch B] [--length T] [--threads N] [--steps K]
//   [--profile]
//
// Prints one JSON line: median and shortest step, tokens per second, peak resident memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/threads.h"
#include "base/threefry.h"
#include "executors/executor.h"
#include "models/scope.h"
#include "train/train_step.h"

namespace headwater {
namespace {

struct Arguments {
  std::string size = "small";
  int64_t batch = 0, length = 0, threads = 2, steps = 7;
  bool profile = false;
};

ElectraGraphOptions sizes_of(const Arguments& a) {
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
  o.sizes.batch_size = a.batch > 0 ? a.batch : small ? 32 : 8;
  o.sizes.seq_length = a.length > 0 ? a.length : small ? 128 : 512;
  o.sizes.max_predictions = static_cast<int64_t>(0.155 * static_cast<double>(o.sizes.seq_length));
  return o;
}

Tensor random_ids(Shape shape, int64_t low, int64_t high, std::string_view name) {
  Tensor tensor(DType::kI32, std::move(shape));
  const Key key = Key::from_seed(1).fold_in(name);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(
        low + static_cast<int64_t>(
                  key.below(static_cast<uint64_t>(i), static_cast<uint64_t>(high - low))));
  }
  return tensor;
}

Result<> feed(Program& program, const BatchSizes& n) {
  const Shape tokens{n.batch_size, n.seq_length}, slots{n.batch_size, n.max_predictions};
  Tensor ones(DType::kI32, tokens), weights(DType::kF32, slots), key(DType::kU32, {2});
  std::ranges::fill(ones.as<int32_t>(), 1);
  std::ranges::fill(weights.as<float>(), 1.0f);
  key.as<uint32_t>()[1] = 7;
  HW_RETURN_IF_ERROR(program.feed("input_ids", random_ids(tokens, 5, 35000, "ids")));
  HW_RETURN_IF_ERROR(program.feed("masked_input_ids", random_ids(tokens, 5, 35000, "ids")));
  HW_RETURN_IF_ERROR(program.feed("input_mask", ones));
  HW_RETURN_IF_ERROR(program.feed("segment_ids", Tensor(DType::kI32, tokens)));
  HW_RETURN_IF_ERROR(
      program.feed("masked_lm_positions", random_ids(slots, 1, n.seq_length, "positions")));
  HW_RETURN_IF_ERROR(program.feed("masked_lm_ids", random_ids(slots, 5, 35000, "targets")));
  HW_RETURN_IF_ERROR(program.feed("masked_lm_weights", weights));
  HW_RETURN_IF_ERROR(program.feed("key", key));
  return program.feed("learning_rate", Tensor::scalar(1e-4f));
}

Result<> measure(const Arguments& a) {
  set_num_threads(static_cast<int>(a.threads));
  const ElectraGraphOptions options = sizes_of(a);
  Graph graph;
  HW_ASSIGN_OR_RETURN(const BuiltGraph built, build_train_graph(electra_step(options), {}, graph));
  HW_ASSIGN_OR_RETURN(const auto executor, Executor::open("cpu"));
  const auto store = executor->make_store();
  for (const Parameter& p : built.parameters) {
    HW_RETURN_IF_ERROR(store->set(p.name, initial_value(p.name, p.value.shape(), p.init, 1)));
  }
  HW_ASSIGN_OR_RETURN(const auto program, executor->compile(graph, *store));
  HW_RETURN_IF_ERROR(feed(*program, options.sizes));
  std::vector<double> seconds;
  RunProfile profile;
  for (int64_t i = 0; i < a.steps + 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    HW_RETURN_IF_ERROR(program->run(i >= 2 && a.profile ? &profile : nullptr));
    if (i >= 2) {
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double load = 0;
  getloadavg(&load, 1);
  fmt::print(
      "{{\"case\": \"electra-{}-gather\", \"dtype\": \"f32\", \"threads\": {}, \"step_s\": {:.4f}, "
      "\"min_s\": {:.4f}, \"tokens_per_s\": {:.1f}, \"program_mb\": {}, \"peak_mb\": {}, "
      "\"load\": {:.2f}}}\n",
      a.size, a.threads, median, seconds.front(),
      static_cast<double>(options.sizes.batch_size * options.sizes.seq_length) / median,
      program->memory_bytes() >> 20, usage.ru_maxrss >> 10, load);
  for (const auto& [name, entry] : profile.by_operator) {
    fmt::print("{:<28} {:>6} calls {:>9.2f} ms a step\n", name, entry.calls / a.steps,
               1e3 * entry.seconds / static_cast<double>(a.steps));
  }
  return {};
}

}  // namespace
}  // namespace headwater

int main(int argc, char** argv) {
  headwater::Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--profile") {
      a.profile = true;
    } else if (i + 1 < argc) {
      const char* value = argv[++i];
      if (flag == "--size") a.size = value;
      if (flag == "--batch") a.batch = std::atoll(value);
      if (flag == "--length") a.length = std::atoll(value);
      if (flag == "--threads") a.threads = std::atoll(value);
      if (flag == "--steps") a.steps = std::atoll(value);
    }
  }
  if (const auto result = headwater::measure(a); !result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    return 1;
  }
  return 0;
}
