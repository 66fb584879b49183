#include "batches/pretrain_pipeline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked.h"
#include "batches/masking.h"
#include "batches/prefetcher.h"
#include "batches/pretrain_example.h"
#include "batches/record_cursor.h"

namespace headwater {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 24;    // of a batch
constexpr int64_t kMostValues = int64_t{1} << 30;  // of one of its tensors
constexpr int64_t kLastStep = INT32_MAX;           // steps are folded into keys of 32 bits

Result<> check_options(const PipelineOptions& o) {
  const auto positive = [](const char* name, int64_t value, int64_t most) -> Result<> {
    if (value >= 1 && value <= most) return {};
    return fail(Code::kInvalidArgument, "{} must be between 1 and {}, got {}", name, most, value);
  };
  HW_RETURN_IF_ERROR(positive("batch size", o.batch_size, kMostRows));
  HW_RETURN_IF_ERROR(positive("max_seq_length", o.max_seq_length, kMostRows));
  HW_RETURN_IF_ERROR(positive("max_predictions_per_seq", o.max_predictions, kMostRows));
  HW_RETURN_IF_ERROR(positive("shuffle buffer (records)", o.shuffle_buffer_records, INT32_MAX / 2));
  HW_RETURN_IF_ERROR(positive("shuffle buffer (bytes)", o.shuffle_buffer_bytes, INT64_MAX / 4));
  HW_RETURN_IF_ERROR(positive("prefetched batches", o.prefetch_batches, 1024));
  const int64_t widest = std::max(o.max_seq_length, o.max_predictions);
  if (o.batch_size * widest > kMostValues)
    return fail(Code::kInvalidArgument, "a batch of {} x {} values is too large", o.batch_size,
                widest);
  if (o.start_step < 0 || o.start_step > kLastStep)
    return fail(Code::kInvalidArgument, "start step {} is out of range", o.start_step);
  if (!(o.mask_prob > 0 && o.mask_prob <= 1))
    return fail(Code::kInvalidArgument, "mask_prob must be over 0 and at most 1, got {}",
                o.mask_prob);
  if (!(o.eval_fraction >= 0 && o.eval_fraction <= 0.5))
    return fail(Code::kInvalidArgument, "the held-out share must be between 0 and 0.5, got {}",
                o.eval_fraction);
  if (o.eval_fraction > 0 && !o.eval_records.empty())
    return fail(Code::kInvalidArgument, "give held-out records or a held-out share, not both");
  if (o.mode == PipelineMode::kEvaluate && o.eval_fraction == 0 && o.eval_records.empty())
    return fail_hint(Code::kInvalidArgument, "give held-out records, or a share of the records",
                     "nothing is held out to evaluate on");
  return {};
}

RecordOrderOptions order_options(const PipelineOptions& o) {
  RecordOrderOptions order;
  const bool evaluates = o.mode == PipelineMode::kEvaluate;
  if (o.eval_fraction > 0) order.split = evaluates ? Split::kHeldOut : Split::kTrain;
  order.held_out_fraction = o.eval_fraction;
  order.shuffle = o.shuffle && !evaluates;
  order.seed = o.seed;
  order.window_records = o.shuffle_buffer_records;
  order.window_bytes = o.shuffle_buffer_bytes;
  return order;
}

MaskingRule rule_of(const PipelineOptions& o, const SpecialIds& specials) {
  MaskingRule rule;
  rule.mask_prob = o.mask_prob;
  rule.max_predictions = o.max_predictions;
  rule.cls = specials.cls, rule.sep = specials.sep, rule.mask = specials.mask;
  return rule;
}

Key masking_key(uint64_t seed, int64_t step) {
  return Key::from_seed(seed).fold_in(static_cast<uint32_t>(step)).fold_in("masking");
}

}  // namespace

// Makes batches one after the other on a thread of its own, into a bounded queue.
class PretrainPipeline::Producer {
 public:
  Producer(const PipelineOptions& options, const SpecialIds& specials, RecordOrder order,
           PretrainExampleReader reader)
      : options_(options),
        specials_(specials),
        order_(std::move(order)),
        reader_(std::move(reader)),
        rule_(rule_of(options, specials)),
        cursor_(order_, first_position()),
        next_step_(options.start_step),
        prefetcher_({.items = options.prefetch_batches},
                    [this]() -> Result<std::optional<PretrainBatch>> {
                      HW_ASSIGN_OR_RETURN(PretrainBatch batch, make(next_step_++));
                      return batch;
                    }) {}

  Result<PretrainBatch> take() {
    auto batch = prefetcher_.next();
    if (!batch) return tl::unexpected<Error>(std::move(batch).error());
    HW_CHECK(batch->has_value(), "training and evaluation have no end");
    return std::move(**batch);
  }

  PipelineStats stats() const {
    PipelineStats stats;
    stats.shards = static_cast<int64_t>(order_.set().shards().size());
    stats.examples = order_.records();
    stats.damaged = order_.set().damaged();
    stats.steps_per_epoch = steps_per_epoch();
    stats.buffer_bytes = 2 * order_.window_bytes();
    stats.data_wait_seconds = prefetcher_.wait_seconds();
    return stats;
  }

  const RecordOrder& order() const { return order_; }
  const PipelineOptions& options() const { return options_; }

 private:
  bool evaluates() const { return options_.mode == PipelineMode::kEvaluate; }
  int64_t steps_per_epoch() const {
    return evaluates() ? ceil_div(order_.records(), options_.batch_size)
                       : std::max<int64_t>(1, order_.records() / options_.batch_size);
  }
  int64_t first_position() const {
    if (!evaluates()) return options_.start_step * options_.batch_size;
    return options_.start_step % steps_per_epoch() * options_.batch_size;
  }

  Result<PretrainBatch> make(int64_t step) {
    PretrainBatch batch = empty_batch(step);
    const auto length = static_cast<size_t>(options_.max_seq_length);
    // In evaluation masks are those of the batch's place in the pass.
    const int64_t place = evaluates() ? step % steps_per_epoch() : step;
    if (evaluates())
      batch.real_rows =
          std::min(options_.batch_size, order_.records() - place * options_.batch_size);
    const Key key = masking_key(options_.seed, place);
    for (int64_t row = 0; row < batch.real_rows; ++row) {
      HW_ASSIGN_OR_RETURN(const RecordCursor::Record record, cursor_.next());
      const auto at = static_cast<size_t>(row) * length;
      const PretrainRow out = {std::span(batch.input_ids).subspan(at, length),
                               std::span(batch.input_mask).subspan(at, length),
                               std::span(batch.segment_ids).subspan(at, length)};
      auto read = reader_.read(record.payload, out);
      if (!read) return in_context(std::move(read).error(), order_.set().where(record.place));
      batch.places.push_back(record.place);
      mask(batch, row, key.fold_in(static_cast<uint32_t>(row)));
    }
    return batch;
  }

  PretrainBatch empty_batch(int64_t step) const {
    PretrainBatch batch;
    batch.step = step;
    batch.batch_size = batch.real_rows = options_.batch_size;
    batch.seq_length = options_.max_seq_length;
    batch.max_predictions = options_.max_predictions;
    const auto tokens = static_cast<size_t>(options_.batch_size * options_.max_seq_length);
    const auto slots = static_cast<size_t>(options_.batch_size * options_.max_predictions);
    batch.input_ids.assign(tokens, specials_.pad);
    batch.masked_input_ids.assign(tokens, specials_.pad);
    batch.input_mask.resize(tokens);
    batch.segment_ids.resize(tokens);
    batch.masked_lm_positions.resize(slots);
    batch.masked_lm_ids.resize(slots);
    batch.masked_lm_weights.resize(slots);
    batch.places.reserve(static_cast<size_t>(options_.batch_size));
    batch.set = order_.shared_set();
    return batch;
  }

  void mask(PretrainBatch& batch, int64_t row, Key key) {
    const auto length = static_cast<size_t>(options_.max_seq_length);
    const auto slots = static_cast<size_t>(options_.max_predictions);
    const size_t token = static_cast<size_t>(row) * length, slot = static_cast<size_t>(row) * slots;
    positions_.resize(slots);
    shows_mask_.resize(slots);
    const auto ids = std::span<const int32_t>(batch.input_ids).subspan(token, length);
    const auto real = std::span<const int32_t>(batch.input_mask).subspan(token, length);
    const int64_t used = draw_mask(ids, real, rule_, key, positions_, shows_mask_);
    apply_mask(ids, used, positions_, shows_mask_, rule_.mask,
               {std::span(batch.masked_input_ids).subspan(token, length),
                std::span(batch.masked_lm_positions).subspan(slot, slots),
                std::span(batch.masked_lm_ids).subspan(slot, slots),
                std::span(batch.masked_lm_weights).subspan(slot, slots)});
  }

  const PipelineOptions options_;
  const SpecialIds specials_;
  const RecordOrder order_;
  const PretrainExampleReader reader_;
  const MaskingRule rule_;
  // Of the thread alone:
  RecordCursor cursor_;
  int64_t next_step_ = 0;
  std::vector<int32_t> positions_;
  std::vector<uint8_t> shows_mask_;

  Prefetcher<PretrainBatch> prefetcher_;  // last: its thread uses all of the above
};

Result<std::unique_ptr<PretrainPipeline>> PretrainPipeline::open(
    FileSystem& fs, const PipelineOptions& options, const SpecialIds& specials,
    std::shared_ptr<const RecordSet> set) {
  HW_RETURN_IF_ERROR(check_options(options));
  HW_ASSIGN_OR_RETURN(PretrainExampleReader reader,
                      PretrainExampleReader::create(options.max_seq_length, options.pad,
                                                    options.vocab_size, specials.pad));
  const bool own_records = options.mode == PipelineMode::kEvaluate && !options.eval_records.empty();
  if (!set) {
    RecordSetOptions set_options;
    set_options.policy = options.damage_policy;
    set_options.memory_limit = options.packed_memory_limit;
    set_options.cache_file = options.cache_file;
    set_options.check_name = fmt::format("ELECTRA; {} {} {} {}", options.max_seq_length,
                                         options.pad, options.vocab_size, specials.pad);
    set_options.check = [&](std::string_view payload) -> Result<int64_t> {
      HW_RETURN_IF_ERROR(reader.check(payload));
      return options.max_seq_length;
    };
    HW_ASSIGN_OR_RETURN(
        set,
        RecordSet::open(fs, own_records ? options.eval_records : options.records, set_options));
  }
  HW_ASSIGN_OR_RETURN(RecordOrder order,
                      RecordOrder::create(std::move(set), order_options(options)));
  return std::unique_ptr<PretrainPipeline>(new PretrainPipeline(
      std::make_unique<Producer>(options, specials, std::move(order), std::move(reader))));
}

PretrainPipeline::PretrainPipeline(std::unique_ptr<Producer> producer)
    : producer_(std::move(producer)) {}
PretrainPipeline::~PretrainPipeline() = default;

Result<PretrainBatch> PretrainPipeline::next() { return producer_->take(); }
PipelineStats PretrainPipeline::stats() const { return producer_->stats(); }
std::shared_ptr<const RecordSet> PretrainPipeline::record_set() const {
  return producer_->order().shared_set();
}

Json PretrainPipeline::fingerprint() const {
  const PipelineOptions& o = producer_->options();
  Json files = producer_->order().set().fingerprint();
  return {{"files", std::move(files)},
          {"options",
           {{"batch_size", o.batch_size},
            {"max_seq_length", o.max_seq_length},
            {"mask_prob", o.mask_prob},
            {"max_predictions_per_seq", o.max_predictions},
            {"seed", o.seed},
            {"shuffle", o.shuffle},
            {"shuffle_buffer_records", o.shuffle_buffer_records},
            {"shuffle_buffer_bytes", o.shuffle_buffer_bytes},
            {"eval_fraction", o.eval_fraction}}}};
}

int64_t PretrainBatch::byte_size() const {
  const size_t values = input_ids.size() + input_mask.size() + segment_ids.size() +
                        masked_input_ids.size() + masked_lm_positions.size() +
                        masked_lm_ids.size() + masked_lm_weights.size();
  return static_cast<int64_t>(values * sizeof(int32_t) + places.size() * sizeof(RecordPlace));
}

std::string PretrainBatch::provenance() const { return describe_places(*set, places); }

}  // namespace headwater
