// Examples per second of the pre-training pipeline: opening (all shards are checked), then batches
// with masks, taken as fast as they come from the one thread that makes them.
//
//   pipeline_bench 'records/pretrain_data.tfrecord*' [length 128] [batch 128] [seconds 5]
//
// Prints one JSON line.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "batches/pretrain_pipeline.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t number(int argc, char** argv, int i, int64_t fallback) {
  return i < argc ? std::strtoll(argv[i], nullptr, 10) : fallback;
}

int measure(int argc, char** argv) {
  using namespace headwater;
  PipelineOptions options;
  options.records = argv[1];
  options.max_seq_length = number(argc, argv, 2, 128);
  options.batch_size = number(argc, argv, 3, 128);
  options.max_predictions =
      static_cast<int64_t>(0.155 * static_cast<double>(options.max_seq_length));
  const auto limit = static_cast<double>(number(argc, argv, 4, 5));
  const auto start = std::chrono::steady_clock::now();
  auto pipeline = PretrainPipeline::open(local_files(), options, SpecialIds{0, 1, 2, 3, 4});
  if (!pipeline) {
    fmt::print(stderr, "{}\n", pipeline.error().to_string());
    return 1;
  }
  const double open_seconds = seconds_since(start);
  const auto first = std::chrono::steady_clock::now();
  int64_t examples = 0;
  while (seconds_since(first) < limit) {
    const auto batch = (*pipeline)->next();
    if (!batch) return 1;
    examples += batch->real_rows;
  }
  const auto stats = (*pipeline)->stats();
  fmt::print(
      "{{\"bench\": \"pipeline\", \"length\": {}, \"batch\": {}, \"records\": {}, "
      "\"open_s\": {:.3f}, \"examples_per_s\": {:.0f}}}\n",
      options.max_seq_length, options.batch_size, stats.examples, open_seconds,
      static_cast<double>(examples) / seconds_since(first));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} GLOB [LENGTH [BATCH [SECONDS]]]\n", argv[0]);
    return 2;
  }
  return measure(argc, argv);
}
