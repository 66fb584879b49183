// Examples per second of the general pipeline, taken as fast as they come from the one thread that
// makes them, and the time to the first batch.
//
//   batches_bench 'records/*.tfrecord' [features] [pad-to 128] [batch 128] [shuffle buffer 10000]
//                 [order shuffled|tf|pack] [seconds 5]
//
// Prints one JSON line.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "batches/batch_pipeline.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string argument(int argc, char** argv, int i, const char* fallback) {
  return i < argc ? argv[i] : fallback;
}

headwater::Result<> measure(int argc, char** argv) {
  using namespace headwater;
  BatchPipelineOptions options;
  options.records = argv[1];
  HW_ASSIGN_OR_RETURN(
      options.features,
      parse_feature_specs(
          argument(argc, argv, 2, "input_ids:int64[], attention_mask:int64[]?, label:int64")));
  HW_ASSIGN_OR_RETURN(options.pad_to, parse_pad_to(argument(argc, argv, 3, "128")));
  options.truncate = true;
  options.batch_size = std::atoll(argument(argc, argv, 4, "128").c_str());
  options.shuffle_buffer_records = std::atoll(argument(argc, argv, 5, "10000").c_str());
  const std::string order = argument(argc, argv, 6, "shuffled");
  options.pack = order == "pack";
  if (order == "tf") options.order = BatchOrder::kTf;
  options.tf.shuffle_buffer = options.shuffle_buffer_records;
  options.tf.cycle_length = 4;
  options.tf.seed = 1;
  const double limit = std::atof(argument(argc, argv, 7, "5").c_str());
  const auto start = std::chrono::steady_clock::now();
  HW_ASSIGN_OR_RETURN(auto pipeline, BatchPipeline::open(local_files(), options));
  const double open_seconds = seconds_since(start);
  HW_RETURN_IF_ERROR(pipeline->next());
  const double first_seconds = seconds_since(start);
  const auto warm = std::chrono::steady_clock::now();
  int64_t records = 0, tokens = 0;
  while (seconds_since(warm) < limit) {
    const auto next = pipeline->next();
    if (!next) return tl::unexpected<Error>(next.error());
    if (!*next) break;  // the end of the epochs
    const Batch& batch = **next;
    records += static_cast<int64_t>(batch.places.size()), tokens += batch.tokens;
  }
  const double seconds = seconds_since(warm);
  const auto stats = pipeline->stats();
  fmt::print(
      "{{\"bench\": \"batches\", \"order\": \"{}\", \"batch\": {}, \"pad_to\": \"{}\", "
      "\"records\": {}, \"mean_len\": {:.1f}, \"open_s\": {:.4f}, \"first_batch_s\": {:.4f}, "
      "\"examples_per_s\": {:.0f}, \"tokens_per_s\": {:.0f}}}\n",
      order, options.batch_size, pad_to_text(options.pad_to), stats.examples,
      static_cast<double>(stats.tokens) / static_cast<double>(stats.examples), open_seconds,
      first_seconds, static_cast<double>(records) / seconds, static_cast<double>(tokens) / seconds);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} GLOB [FEATURES [PAD_TO [BATCH [BUFFER [ORDER [SECONDS]]]]]]\n",
               argv[0]);
    return 2;
  }
  const auto measured = measure(argc, argv);
  if (!measured) fmt::print(stderr, "{}\n", measured.error().to_string());
  return measured ? 0 : 1;
}
