// Batches for ELECTRA pre-training: shards, order, parsing, dynamic masks, prefetch.
//
// Batch n is a pure function of (records, options, n): a run that starts at step n gets exactly the
// batches of an unbroken run. The rows of batch n stand at positions n * B ... of an endless walk
// over epochs, so that a batch may span two epochs and no record is dropped. Masks hang on (seed,
// step, row) only. One background thread reads ahead; the queue is bounded; destroying the pipeline
// ends the thread.
//
// Evaluation walks over the held-out records in the order of the shards, with the same masks in
// every pass; the last batch of a pass is filled up with empty rows (real_rows).
//
// Not here: graphs, devices, the generator's samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "batches/data_fingerprint.h"
#include "batches/record_order.h"
#include "io/file.h"
#include "tokens/vocabulary.h"

namespace headwater {

enum class PipelineMode { kTrain, kEvaluate };

struct PipelineOptions {
  PipelineMode mode = PipelineMode::kTrain;
  std::string records;           // shell patterns, comma-separated
  std::string eval_records;      // held-out shards; or
  double eval_fraction = 0;      // a share of `records` that training never sees, 0 to 0.5
  int64_t batch_size = 128;      // B
  int64_t max_seq_length = 128;  // T
  bool pad = false;              // accept shorter records and fill them up
  int64_t vocab_size = 0;        // ids at or over it are an error; 0: not known
  double mask_prob = 0.15;
  int64_t max_predictions = 19;  // N
  uint64_t seed = 0;
  int64_t start_step = 0;
  bool shuffle = true;                                // training only
  int64_t shuffle_buffer_records = 16384;             // whichever of the two
  int64_t shuffle_buffer_bytes = int64_t{256} << 20;  // is reached first
  DamagePolicy damage_policy = DamagePolicy::kStop;
  int64_t packed_memory_limit = int64_t{4} << 30;  // bytes, for compressed shards
  std::string cache_file;  // of places and counts of the records (RecordSetOptions); may be empty
  int64_t prefetch_batches = 4;
};

struct PretrainBatch {
  int64_t step = 0;  // the batch's number
  int64_t batch_size = 0, seq_length = 0, max_predictions = 0;
  int64_t real_rows = 0;  // the others are empty: no mask, no weight
  std::vector<int32_t> input_ids, input_mask, segment_ids;  // [B,T]
  std::vector<int32_t> masked_input_ids;                    // [B,T]
  std::vector<int32_t> masked_lm_positions, masked_lm_ids;  // [B,N]
  std::vector<float> masked_lm_weights;                     // [B,N]
  std::vector<RecordPlace> places;                          // [real_rows]
  std::shared_ptr<const RecordSet> set;                     // what places point into

  // Files and record ranges, for messages: "a.tfrecord: records 3, 7-9; b.tfrecord: record 0".
  std::string provenance() const;
  int64_t byte_size() const;
};

struct PipelineStats {
  int64_t shards = 0;
  int64_t examples = 0;          // of an epoch, or of an evaluation pass
  int64_t damaged = 0;           // records passed over by policy
  int64_t steps_per_epoch = 0;   // training: whole batches, at least 1; evaluation: of a pass
  int64_t buffer_bytes = 0;      // of the two windows, about
  double data_wait_seconds = 0;  // that next() waited so far
};

class PretrainPipeline {
 public:
  // Checks all shards, which takes a pass over the data; `set` spares it when another pipeline
  // opened the same records (record_set()).
  static Result<std::unique_ptr<PretrainPipeline>> open(
      FileSystem& fs, const PipelineOptions& options, const SpecialIds& specials,
      std::shared_ptr<const RecordSet> set = nullptr);
  ~PretrainPipeline();
  PretrainPipeline(const PretrainPipeline&) = delete;
  PretrainPipeline& operator=(const PretrainPipeline&) = delete;

  // Batch start_step, then the next one ... endlessly. An error stays: later calls return it again.
  Result<PretrainBatch> next();

  PipelineStats stats() const;
  std::shared_ptr<const RecordSet> record_set() const;
  // What the batches are a function of, besides the step: files (name, bytes, records, checksum)
  // and options.
  Json fingerprint() const;

 private:
  class Producer;
  explicit PretrainPipeline(std::unique_ptr<Producer> producer);
  std::unique_ptr<Producer> producer_;
};

}  // namespace headwater
