// Batches of any records: files, order, parsing by specs, padding or packing, work ahead.
//
//   BatchPipelineOptions options;
//   options.records = "records/*.tfrecord";
//   options.features = *parse_feature_specs("input_ids:int64[], attention_mask:int64[]?");
//   options.pad_to = *parse_pad_to("64,128,256");
//   options.batch_size = 32;
//   auto pipeline = BatchPipeline::open(local_files(), options);
//   while (auto batch = (*pipeline)->next()) ...        // batch->has_value(): none at the end
//
// Batch n is a pure function of (records, options, n): not of threads, replicas, or where a run was
// interrupted. A batch says from where the next one goes on (Batch::next, a few numbers); a run
// that is opened with them gets exactly the batches of an unbroken run. The batch size is that of
// all replicas together; each takes its rows.
//
// Opening reads the records through once (record_set.h): damage and wrong lengths are found then,
// and the counts that a loop needs are known. One background thread parses and fills batches into a
// queue bounded in number and bytes; destroying the pipeline ends it. An error stays: later calls
// return it again.
//
// A second set for evaluation is a pipeline of its own, with order kSequential and remainder kKeep:
// every pass has the same batches. With a held-out share, both pipelines have one record_set().
//
// Not here: graphs, devices, masking (masking.h), the ELECTRA preset (pretrain_pipeline.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "batches/batch.h"
#include "batches/line_records.h"
#include "batches/padding.h"
#include "batches/record_order.h"
#include "batches/tf_cursor.h"
#include "io/file.h"
#include "records/feature_specs.h"

namespace headwater {

enum class BatchOrder {
  kShuffled,    // anew in each epoch, in windows; resumes anywhere (record_order.h)
  kSequential,  // as the records stand in the files
  kTf           // as tf.data, by `tf` (tf_cursor.h)
};

// What becomes of the records at the end of an epoch that do not fill a batch.
enum class Remainder {
  kSpan,  // the batch takes records of the next epoch: repeat().batch()
  kKeep,  // a batch that is filled up with rows of padding: batch().repeat()
  kDrop   // none: batch(drop_remainder=True).repeat()
};

struct BatchPipelineOptions {
  std::string records;  // files, folders or shell patterns, comma-separated
  RecordFormat format = RecordFormat::kTfRecord;  // lines are held in memory as records
  EncodeText encode_text;                         // of kText, which gives input_ids
  DamagePolicy damage_policy = DamagePolicy::kStop;
  int64_t packed_memory_limit = int64_t{4} << 30;  // bytes, for compressed shards and lines
  std::string cache_file;  // of places and counts of the records (RecordSetOptions); may be empty

  std::vector<FeatureSpec> features;  // the first list (input_ids, if there is one) gives lengths
  int64_t vocab_size = 0;             // input_ids at or over it are an error; 0: not known
  int64_t max_length = 0;             // of a list; 0: any that pad_to holds
  bool truncate = false;              // cut longer lists; false: they are an error

  Split split = Split::kAll;      // a share that no seed moves is held out of training
  double held_out_fraction = 0;   // of kTrain and kHeldOut
  int64_t shards = 1, shard = 0;  // of the records, only the part `shard` of `shards`
  bool shard_by_record = false;   // every nth record; false: every nth file

  BatchOrder order = BatchOrder::kShuffled;
  uint64_t seed = 0;                                  // of kShuffled
  int64_t shuffle_buffer_records = 16384;             // of kShuffled: whichever of the two
  int64_t shuffle_buffer_bytes = int64_t{256} << 20;  // is reached first
  TfOrderOptions tf;                                  // of kTf
  int64_t epochs = 0;                                 // 0: without end

  int64_t batch_size = 32;  // of all replicas together
  int64_t replicas = 1, replica = 0;
  Remainder remainder = Remainder::kSpan;

  PadTo pad_to;                       // packed: one bucket, the rows' length
  int64_t pad_id = 0;                 // of the vocabulary
  std::vector<PaddingValue> padding;  // replaces what goes by a feature's name (list_fill)
  bool pack = false;                  // several records in a row; longer ones are cut into pieces

  int64_t prefetch_batches = 4;                 // whichever of the two
  int64_t prefetch_bytes = int64_t{256} << 20;  // is reached first

  int64_t start_step = 0;              // not with pack; or
  std::optional<PipelineState> start;  // where an earlier run came to
};

struct BatchPipelineStats {
  int64_t shards = 0;
  int64_t examples = 0;            // records of an epoch
  int64_t tokens = 0;              // values of their first list
  int64_t damaged = 0;             // records passed over by policy
  int64_t steps_per_epoch = 0;     // rounded up; with kDrop whole batches
  bool steps_are_a_bound = false;  // packed: at least so many, as tokens and row lengths say
  int64_t rows = 0;                // of a batch of this replica
  int64_t widths = 0;              // that lists may be padded to; 0: not bounded
  int64_t buffer_bytes = 0;        // of the shuffling, about
  double data_wait_seconds = 0;    // that next() waited so far
};

// Rows of each replica; an error when the batch cannot be divided, with sizes that can.
Result<int64_t> per_replica_batch(int64_t batch_size, int64_t replicas);

class BatchPipeline {
 public:
  // `set`: spares the pass over the data when another pipeline opened the same records with the
  // same features.
  static Result<std::unique_ptr<BatchPipeline>> open(
      FileSystem& fs, const BatchPipelineOptions& options,
      std::shared_ptr<const RecordSet> set = nullptr);
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  // The next batch; none when all epochs are over.
  Result<std::optional<Batch>> next();

  BatchPipelineStats stats() const;
  std::shared_ptr<const RecordSet> record_set() const;
  // What the batches are a function of, besides the step: files and options, for check_same_data.
  // Replicas and what only bounds memory are not among them.
  Json fingerprint() const;

 private:
  class Producer;
  explicit BatchPipeline(std::unique_ptr<Producer> producer);
  std::unique_ptr<Producer> producer_;
};

}  // namespace headwater
