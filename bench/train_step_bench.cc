// One training step on random ids, as the PyTorch side of the comparison has it: float32, dropout
// on, clipping and AdamW included; of ELECTRA, generator logits at the masked positions only.
//
//   train_step_bench [--case electra-small-gather|electra-base-gather|gpt2] [--batch B] [--length
//   T]
//   [--threads N] [--steps K] [--profile]
//
// Prints one JSON line: median and shortest step, tokens per second, peak resident memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "base/threads.h"
#include "base/threefry.h"
#include "executors/executor.h"
#include "models/scope.h"
#include "train/model_step.h"
#include "train/task_trainer.h"
#include "train/train_step.h"

namespace headwater {
namespace {

struct Arguments {
  std::string name = "electra-small-gather";
  int64_t batch = 0, length = 0, threads = 2, steps = 7;
  bool profile = false;
};

ElectraGraphOptions sizes_of(const Arguments& a) {
  ElectraGraphOptions o;
  const bool small = a.name == "electra-small-gather";
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

// What is measured: a graph, and how it is fed.
struct Case {
  Graph graph;
  BuiltGraph built;
  int64_t tokens = 0;
  std::function<Result<>(Program&)> feed;
};

Tensor step_key() {
  Tensor key(DType::kU32, {2});
  key.as<uint32_t>()[1] = 7;
  return key;
}

Result<> feed_electra(Program& program, const BatchSizes& n) {
  const Shape tokens{n.batch_size, n.seq_length}, slots{n.batch_size, n.max_predictions};
  Tensor ones(DType::kI32, tokens), weights(DType::kF32, slots);
  std::ranges::fill(ones.as<int32_t>(), 1);
  std::ranges::fill(weights.as<float>(), 1.0f);
  HW_RETURN_IF_ERROR(program.feed("input_ids", random_ids(tokens, 5, 35000, "ids")));
  HW_RETURN_IF_ERROR(program.feed("masked_input_ids", random_ids(tokens, 5, 35000, "ids")));
  HW_RETURN_IF_ERROR(program.feed("input_mask", ones));
  HW_RETURN_IF_ERROR(program.feed("segment_ids", Tensor(DType::kI32, tokens)));
  HW_RETURN_IF_ERROR(
      program.feed("masked_lm_positions", random_ids(slots, 1, n.seq_length, "positions")));
  HW_RETURN_IF_ERROR(program.feed("masked_lm_ids", random_ids(slots, 5, 35000, "targets")));
  HW_RETURN_IF_ERROR(program.feed("masked_lm_weights", weights));
  HW_RETURN_IF_ERROR(program.feed("key", step_key()));
  return program.feed("learning_rate", Tensor::scalar(1e-4f));
}

Result<> make_electra(const Arguments& a, Case& made) {
  const ElectraGraphOptions options = sizes_of(a);
  HW_ASSIGN_OR_RETURN(made.built, build_train_graph(electra_step(options), {}, made.graph));
  made.tokens = options.sizes.batch_size * options.sizes.seq_length;
  made.feed = [sizes = options.sizes](Program& program) { return feed_electra(program, sizes); };
  return {};
}

// GPT-2 124M, every token of every row a target, as GPT2LMHeadModel(ids, labels=ids).
Result<> make_gpt2(const Arguments& a, Case& made) {
  const ModelBatchShape shape{.batch_size = a.batch > 0 ? a.batch : 2,
                              .seq_length = a.length > 0 ? a.length : 256,
                              .labels = false};
  ModelStepOptions options;
  options.model = {Architecture::kGpt2LMHeadModel, Gpt2Config{}, {}};
  const OptimizerOptions optimizer = find_optimizer("adamw-hf")->options;
  HW_ASSIGN_OR_RETURN(made.built,
                      build_train_graph(model_step(options, shape), optimizer, made.graph));
  made.tokens = shape.batch_size * shape.seq_length;
  made.feed = [shape, optimizer](Program& program) -> Result<> {
    HW_RETURN_IF_ERROR(program.feed(
        "input_ids", random_ids({shape.batch_size, shape.seq_length}, 0, 50257, "ids")));
    HW_RETURN_IF_ERROR(program.feed("key", step_key()));
    return feed_scalars(program, optimizer_feeds(optimizer, 1, 1e-4));
  };
  return {};
}

Result<> measure(const Arguments& a) {
  set_num_threads(static_cast<int>(a.threads));
  Case made;
  HW_RETURN_IF_ERROR(a.name == "gpt2" ? make_gpt2(a, made) : make_electra(a, made));
  HW_ASSIGN_OR_RETURN(const auto executor, Executor::open("cpu"));
  const auto store = executor->make_store();
  for (const Parameter& p : made.built.parameters) {
    HW_RETURN_IF_ERROR(store->set(p.name, initial_value(p.name, p.value.shape(), p.init, 1)));
  }
  HW_ASSIGN_OR_RETURN(const auto program, executor->compile(made.graph, *store));
  HW_RETURN_IF_ERROR(made.feed(*program));
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
      "{{\"case\": \"{}\", \"dtype\": \"f32\", \"threads\": {}, \"step_s\": {:.4f}, "
      "\"min_s\": {:.4f}, \"tokens_per_s\": {:.1f}, \"program_mb\": {}, \"peak_mb\": {}, "
      "\"load\": {:.2f}}}\n",
      a.name, a.threads, median, seconds.front(), static_cast<double>(made.tokens) / median,
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
      if (flag == "--case") a.name = value;
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
