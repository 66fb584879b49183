#include "batches/batch_pipeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/checked.h"
#include "batches/batch_rows.h"
#include "batches/prefetcher.h"
#include "batches/record_cursor.h"
#include "batches/row_reader.h"

namespace headwater {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 24;  // of a batch
constexpr int64_t kLastStep = INT32_MAX;         // steps are folded into keys of 32 bits
constexpr int64_t kMostEpochs = INT32_MAX;
constexpr int64_t kLastPosition = int64_t{1} << 60;

using Options = BatchPipelineOptions;

Result<> check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return fail(Code::kInvalidArgument, "{} must be between {} and {}, got {}", name, least, most,
              value);
}

Result<> check_numbers(const Options& o) {
  HW_RETURN_IF_ERROR(check_range("batch size", o.batch_size, 1, kMostRows));
  HW_RETURN_IF_ERROR(check_range("replica", o.replica, 0, std::max<int64_t>(o.replicas, 1) - 1));
  HW_RETURN_IF_ERROR(check_range("shards", o.shards, 1, INT32_MAX));
  HW_RETURN_IF_ERROR(check_range("shard", o.shard, 0, o.shards - 1));
  HW_RETURN_IF_ERROR(check_range("epochs", o.epochs, 0, kMostEpochs));
  HW_RETURN_IF_ERROR(check_range("max length", o.max_length, 0, kMostRows));
  HW_RETURN_IF_ERROR(check_range("vocabulary size", o.vocab_size, 0, INT32_MAX));
  HW_RETURN_IF_ERROR(check_range("pad id", o.pad_id, INT32_MIN, INT32_MAX));
  HW_RETURN_IF_ERROR(
      check_range("shuffle buffer (records)", o.shuffle_buffer_records, 1, INT32_MAX / 2));
  HW_RETURN_IF_ERROR(
      check_range("shuffle buffer (bytes)", o.shuffle_buffer_bytes, 1, INT64_MAX / 4));
  HW_RETURN_IF_ERROR(check_range("shuffle buffer", o.tf.shuffle_buffer, 0, INT32_MAX / 2));
  HW_RETURN_IF_ERROR(check_range("interleave cycle", o.tf.cycle_length, 1, kMostRows));
  HW_RETURN_IF_ERROR(check_range("interleave block", o.tf.block_length, 1, INT32_MAX));
  HW_RETURN_IF_ERROR(check_range("prefetched batches", o.prefetch_batches, 1, 1024));
  HW_RETURN_IF_ERROR(check_range("prefetched bytes", o.prefetch_bytes, 1, INT64_MAX / 4));
  HW_RETURN_IF_ERROR(check_range("start step", o.start_step, 0, kLastStep));
  if (!(o.held_out_fraction >= 0 && o.held_out_fraction <= 0.5))
    return fail(Code::kInvalidArgument, "the held-out share must be between 0 and 0.5, got {}",
                o.held_out_fraction);
  if (!o.start) return {};
  HW_RETURN_IF_ERROR(check_range("step to go on from", o.start->step, 0, kLastStep));
  HW_RETURN_IF_ERROR(check_range("position to go on from", o.start->position, 0, kLastPosition));
  return check_range("offset to go on from", o.start->offset, 0, o.pack ? INT32_MAX : 0);
}

Result<> check_packing(const Options& o) {
  if (!o.pack) return {};
  if (o.pad_to.widths() != 1)
    return fail_hint(Code::kInvalidArgument, "pad to one length, such as 512",
                     "packed rows have one length, not {}", pad_to_text(o.pad_to));
  if (o.batch_size > (int64_t{1} << 30) / o.pad_to.limit())
    return fail(Code::kInvalidArgument, "a batch of {} x {} values is too large", o.batch_size,
                o.pad_to.limit());
  if (o.start_step > 0)
    return fail(Code::kInvalidArgument,
                "how many records a packed batch holds shows when it is made: go on from the state "
                "of a checkpoint, not from a step");
  for (const FeatureSpec& spec : o.features)
    if (spec.layout != FeatureSpec::Layout::kVariable || spec.type == FeatureType::kBytes ||
        spec.key == kDocumentIds)
      return fail_hint(Code::kInvalidArgument, "leave it out, or do not pack",
                       "feature '{}' cannot be packed: rows of several records hold lists of "
                       "numbers only",
                       spec.key);
  return {};
}

Result<> check_order(const Options& o) {
  if (o.order != BatchOrder::kTf) return {};
  const bool shuffles = o.tf.shuffle_buffer > 0 || o.tf.shuffle_files;
  if (shuffles && !o.tf.seed && !o.tf.global_seed)
    return fail(Code::kInvalidArgument, "an order of tf.data can be repeated only with a seed");
  if (o.tf.repeat_before_shuffle && o.remainder != Remainder::kSpan)
    return fail(Code::kInvalidArgument,
                "when epochs mix (repeat before shuffle), no epoch has a remainder of its own");
  return {};
}

Result<> check_options(const Options& o) {
  HW_RETURN_IF_ERROR(per_replica_batch(o.batch_size, o.replicas));
  HW_RETURN_IF_ERROR(check_numbers(o));
  HW_RETURN_IF_ERROR(check_packing(o));
  if (o.format == RecordFormat::kText && !o.encode_text)
    return fail(Code::kInvalidArgument, "records of text need a tokenizer");
  return check_order(o);
}

RowRules row_rules(const Options& o) {
  RowRules rules;
  rules.features = o.features;
  rules.padding = o.padding;
  rules.pad_id = o.pad_id;
  rules.truncate = o.truncate;
  rules.vocab_size = o.vocab_size;
  rules.aligned = o.pack;
  const int64_t widest = o.pad_to.limit();
  rules.max_length = o.max_length;
  if (!o.pack && widest < INT64_MAX)
    rules.max_length = o.max_length > 0 ? std::min(o.max_length, widest) : widest;
  return rules;
}

std::function<Result<std::string>(std::string_view)> line_to_record(const Options& o) {
  switch (o.format) {
    case RecordFormat::kJsonLines:
      return [&o](std::string_view line) { return record_of_json_line(line, o.features); };
    case RecordFormat::kText:
      return [&o](std::string_view line) { return record_of_text_line(line, o.encode_text); };
    case RecordFormat::kTfRecord: break;
  }
  return nullptr;
}

RecordOrderOptions order_options(const Options& o) {
  RecordOrderOptions order;
  order.split = o.held_out_fraction > 0 ? o.split : Split::kAll;
  order.held_out_fraction = o.held_out_fraction;
  order.shuffle = o.order == BatchOrder::kShuffled;
  order.seed = o.seed;
  order.window_records = o.shuffle_buffer_records;
  order.window_bytes = o.shuffle_buffer_bytes;
  order.shards = o.shards, order.shard = o.shard;
  order.shard_by_record = o.shard_by_record;
  return order;
}

const char* order_name(BatchOrder order) {
  switch (order) {
    case BatchOrder::kShuffled: return "shuffled";
    case BatchOrder::kSequential: return "sequential";
    case BatchOrder::kTf: return "tf";
  }
  return "";
}

const char* remainder_name(Remainder remainder) {
  switch (remainder) {
    case Remainder::kSpan: return "span";
    case Remainder::kKeep: return "keep";
    case Remainder::kDrop: return "drop";
  }
  return "";
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json tf_json(const TfOrderOptions& tf) {
  return {{"cycle_length", tf.cycle_length},
          {"block_length", tf.block_length},
          {"shuffle_files", tf.shuffle_files},
          {"shuffle_buffer", tf.shuffle_buffer},
          {"seed", or_null(tf.seed)},
          {"global_seed", or_null(tf.global_seed)},
          {"reshuffle_each_iteration", tf.reshuffle_each_iteration},
          {"repeat_before_shuffle", tf.repeat_before_shuffle}};
}

}  // namespace

Result<int64_t> per_replica_batch(int64_t batch_size, int64_t replicas) {
  if (replicas < 1) return fail(Code::kInvalidArgument, "{} replicas", replicas);
  if (batch_size >= 1 && batch_size % replicas == 0) return batch_size / replicas;
  const int64_t below = batch_size / replicas * replicas;
  return fail_hint(Code::kInvalidArgument,
                   below > 0 ? fmt::format("use {} or {}", below, below + replicas)
                             : fmt::format("use {}", replicas),
                   "a batch of {} cannot be divided among {} replicas", batch_size, replicas);
}

// Makes batches one after the other on the prefetcher's thread.
class BatchPipeline::Producer {
 public:
  Producer(const Options& options, RecordOrder order, RowReader reader)
      : options_(options),
        order_(std::move(order)),
        reader_(std::move(reader)),
        range_(own_rows()),
        state_(options.start.value_or(state_at(options.start_step))),
        cursor_(make_cursor()),
        packer_(reader_, options.pack ? options.batch_size : 0,
                options.pack ? options.pad_to.limit() : 0),
        prefetcher_({.items = options.prefetch_batches, .bytes = options.prefetch_bytes},
                    [this] { return options_.pack ? make_packed() : make_padded(); }) {}

  Result<std::optional<Batch>> next() { return prefetcher_.next(); }
  const RecordOrder& order() const { return order_; }
  const Options& options() const { return options_; }

  BatchPipelineStats stats() const {
    BatchPipelineStats stats;
    stats.shards = static_cast<int64_t>(order_.set().shards().size());
    stats.examples = order_.records();
    stats.tokens = order_.tokens();
    stats.damaged = order_.set().damaged();
    stats.steps_per_epoch =
        options_.pack ? ceil_div(stats.tokens, options_.batch_size * options_.pad_to.limit())
                      : steps_per_epoch();
    stats.steps_are_a_bound = options_.pack;
    stats.rows = range_.end - range_.begin;
    stats.widths = options_.pad_to.widths();
    stats.buffer_bytes =
        options_.order == BatchOrder::kTf
            ? std::min(options_.tf.shuffle_buffer, order_.records()) * int64_t{sizeof(int64_t)}
            : 2 * order_.window_bytes();
    stats.data_wait_seconds = prefetcher_.wait_seconds();
    return stats;
  }

 private:
  using Cursor = std::variant<RecordCursor, TfCursor>;

  RowRange own_rows() const {
    const int64_t rows = options_.batch_size / options_.replicas;
    return {options_.replica * rows, (options_.replica + 1) * rows};
  }
  int64_t steps_per_epoch() const {
    return options_.remainder == Remainder::kDrop ? order_.records() / options_.batch_size
                                                  : ceil_div(order_.records(), options_.batch_size);
  }
  PipelineState state_at(int64_t step) const {
    if (step == 0 || options_.remainder == Remainder::kSpan)
      return {step, step * options_.batch_size};
    const int64_t steps = steps_per_epoch();
    return {step, step / steps * order_.records() + step % steps * options_.batch_size};
  }
  Cursor make_cursor() const {
    if (options_.order == BatchOrder::kTf)
      return TfCursor(order_, options_.tf, options_.epochs, state_.position);
    return RecordCursor(order_, state_.position);
  }
  Result<RecordCursor::Record> next_record() {
    return std::visit([](auto& cursor) { return cursor.next(); }, cursor_);
  }
  bool ended(int64_t position) const {
    return options_.epochs > 0 && position / order_.records() >= options_.epochs;
  }

  Result<RecordPlace> read_row(Row& row) {
    HW_ASSIGN_OR_RETURN(const RecordCursor::Record record, next_record());
    auto read = reader_.read(record.payload, row);
    if (!read) return in_context(std::move(read).error(), order_.set().where(record.place));
    return record.place;
  }

  // Records that the next batch takes; passes over a remainder that is dropped.
  Result<int64_t> count_rows() {
    const int64_t records = order_.records(), within = state_.position % records;
    int64_t left = records - within;
    if (options_.remainder == Remainder::kDrop && left < options_.batch_size) {
      for (; left > 0; --left, ++state_.position) HW_RETURN_IF_ERROR(next_record());
      left = records;
    }
    if (ended(state_.position)) return 0;
    if (options_.remainder == Remainder::kSpan)
      left = options_.epochs > 0 ? options_.epochs * records - state_.position : kLastPosition;
    return std::min(options_.batch_size, left);
  }

  Result<std::optional<Batch>> make_padded() {
    HW_ASSIGN_OR_RETURN(const int64_t count, count_rows());
    if (count == 0) return std::optional<Batch>();
    rows_.resize(static_cast<size_t>(options_.batch_size));
    Batch batch = new_batch();
    for (int64_t r = 0; r < count; ++r) {
      HW_ASSIGN_OR_RETURN(const RecordPlace place, read_row(rows_[static_cast<size_t>(r)]));
      if (r >= range_.begin && r < range_.end) batch.places.push_back(place);
      batch.cut += rows_[static_cast<size_t>(r)].cut;
    }
    auto filled = fill_padded(reader_, options_.pad_to,
                              std::span(rows_).first(static_cast<size_t>(count)), range_, batch);
    if (!filled) return in_context(std::move(filled).error(), batch.provenance());
    state_ = {state_.step + 1, state_.position + count};
    batch.next = state_;
    return std::optional(std::move(batch));
  }

  // Documents go into the batch until one has no room.
  Result<std::optional<Batch>> make_packed() {
    packer_.start();
    Batch batch = new_batch();
    int64_t passed_over = 0;  // records, since a document was placed
    while (true) {
      HW_ASSIGN_OR_RETURN(const bool more, next_document(batch));
      if (!more) break;
      const int64_t size = std::min(document_.length - state_.offset, options_.pad_to.limit());
      if (size > 0) {
        HW_ASSIGN_OR_RETURN(const auto row, packer_.add(document_, state_.offset, size));
        if (!row) break;
        if (*row >= range_.begin && *row < range_.end) batch.places.push_back(place_);
        state_.offset += size;
        passed_over = 0;
      } else if (++passed_over > order_.records()) {
        return fail(Code::kInvalidArgument, "all records are empty: there is nothing to pack");
      }
      if (state_.offset >= document_.length) {
        has_document_ = false;
        state_ = {state_.step, state_.position + 1};
      }
    }
    if (packer_.documents() == 0) return std::optional<Batch>();
    packer_.finish(range_, batch);
    ++state_.step;
    batch.next = state_;
    return std::optional(std::move(batch));
  }

  // Makes document_ the one at state_; false when the batch ends before it.
  Result<bool> next_document(Batch& batch) {
    if (has_document_) return true;
    if (packer_.documents() > 0 && state_.position % order_.records() == 0) {
      if (options_.remainder == Remainder::kKeep) return false;
      if (packer_.full()) return false;  // no remainder
      if (options_.remainder == Remainder::kDrop) HW_RETURN_IF_ERROR(drop_epoch_end(batch));
    }
    if (ended(state_.position)) return false;
    HW_ASSIGN_OR_RETURN(place_, read_row(document_));
    has_document_ = true;
    return true;
  }

  Result<> drop_epoch_end(Batch& batch) {
    if (state_.position - batch_start_ >= order_.records())
      return fail(
          Code::kInvalidArgument,
          "the {} records of an epoch do not fill a batch of {} rows, and a remainder is to "
          "be dropped",
          order_.records(), options_.batch_size);
    packer_.start();
    batch.places.clear();
    batch_start_ = state_.position;
    return {};
  }

  Batch new_batch() {
    Batch batch;
    batch.step = state_.step;
    batch.set = order_.shared_set();
    batch_start_ = state_.position;
    return batch;
  }

  const Options options_;
  const RecordOrder order_;
  const RowReader reader_;
  const RowRange range_;
  // Of the thread alone:
  PipelineState state_;  // of the next batch; while one is packed, of document_
  Cursor cursor_;
  std::vector<Row> rows_;
  RowPacker packer_;
  Row document_;
  RecordPlace place_;  // of document_
  bool has_document_ = false;
  int64_t batch_start_ = 0;

  Prefetcher<Batch> prefetcher_;  // last: its thread uses all of the above
};

Result<std::unique_ptr<BatchPipeline>> BatchPipeline::open(FileSystem& fs, const Options& options,
                                                           std::shared_ptr<const RecordSet> set) {
  HW_RETURN_IF_ERROR(check_options(options));
  HW_ASSIGN_OR_RETURN(RowReader reader, RowReader::create(row_rules(options)));
  const bool needs_sizes =
      options.order == BatchOrder::kTf || options.held_out_fraction > 0 || options.shards > 1;
  if (!set || (needs_sizes && !set->keeps_sizes())) {
    RecordSetOptions set_options;
    set_options.policy = options.damage_policy;
    set_options.memory_limit = options.packed_memory_limit;
    set_options.keep_sizes = needs_sizes;
    set_options.line_to_record = line_to_record(options);
    set_options.check = [&](std::string_view payload) { return reader.check(payload); };
    set_options.cache_file = options.cache_file;
    set_options.check_name =
        fmt::format("{}; {} {} {} {}", feature_specs_text(options.features), options.vocab_size,
                    row_rules(options).max_length, options.truncate, options.pack);
    HW_ASSIGN_OR_RETURN(set, RecordSet::open(fs, options.records, set_options));
  }
  HW_ASSIGN_OR_RETURN(RecordOrder order,
                      RecordOrder::create(std::move(set), order_options(options)));
  if (options.remainder == Remainder::kDrop && !options.pack &&
      order.records() < options.batch_size)
    return fail_hint(Code::kInvalidArgument, "use a smaller batch, or keep the remainder",
                     "{} records do not fill a batch of {}, and a remainder is to be dropped",
                     order.records(), options.batch_size);
  return std::unique_ptr<BatchPipeline>(
      new BatchPipeline(std::make_unique<Producer>(options, std::move(order), std::move(reader))));
}

BatchPipeline::BatchPipeline(std::unique_ptr<Producer> producer) : producer_(std::move(producer)) {}
BatchPipeline::~BatchPipeline() = default;

Result<std::optional<Batch>> BatchPipeline::next() { return producer_->next(); }
BatchPipelineStats BatchPipeline::stats() const { return producer_->stats(); }
std::shared_ptr<const RecordSet> BatchPipeline::record_set() const {
  return producer_->order().shared_set();
}

Json BatchPipeline::fingerprint() const {
  const Options& o = producer_->options();
  Json padding = Json::object();
  for (const PaddingValue& value : o.padding) padding[value.feature] = value.value;
  Json options = {{"features", feature_specs_text(o.features)},
                  {"batch_size", o.batch_size},
                  {"max_length", o.max_length},
                  {"truncate", o.truncate},
                  {"held_out_fraction", o.held_out_fraction},
                  {"order", order_name(o.order)},
                  {"remainder", remainder_name(o.remainder)},
                  {"pad_to", pad_to_text(o.pad_to)},
                  {"pad_id", o.pad_id},
                  {"padding", std::move(padding)},
                  {"pack", o.pack},
                  {"shards", o.shards},
                  {"shard", o.shard}};
  if (o.order == BatchOrder::kTf) options["tf"] = tf_json(o.tf);
  if (o.order == BatchOrder::kShuffled) {
    options["seed"] = o.seed;
    options["shuffle_buffer_records"] = o.shuffle_buffer_records;
    options["shuffle_buffer_bytes"] = o.shuffle_buffer_bytes;
  }
  return {{"files", producer_->order().set().fingerprint()}, {"options", std::move(options)}};
}

}  // namespace headwater
