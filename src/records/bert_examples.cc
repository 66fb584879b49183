#include "records/bert_examples.h"

#include <algorithm>
#include <cmath>

namespace headwater {

void BertOptions::describe(Fields& f) {
  f.group("Examples of --task bert");
  f("pairs", pairs,
    "pairs of segments for next-sentence prediction; --no-pairs: single ones, full of whole "
    "sentences, as RoBERTa's");
  f("sentence_order", sentence_order,
    "label pairs whose order was swapped (ALBERT), instead of pairs with a random second segment");
  f("short_seq_prob", short_seq_prob, "share of documents whose pairs are made shorter")
      .range(0, 1);
  f("masking", masking,
    "who draws masks: dynamic, the training loop, anew in every step; static, here, once for all")
      .one_of({"dynamic", "static"});
  f("dupe_factor", dupe_factor,
    "how often the text is gone through, with other draws; auto: 10 with static masks, else 1")
      .range(1, 1000);
  f("whole_word_masking", whole_word_masking, "static masks: words with all their pieces")
      .alias("do_whole_word_mask");
  f("masked_lm_prob", masked_lm_prob, "static masks: share of tokens to predict").range(0, 1);
  f("max_predictions_per_seq", max_predictions_per_seq,
    "static masks: slots of an example; auto: the share of a full example, rounded up (20 of 128)")
      .range(1, 65536);
  f("pad", pad,
    "fill up to --max-seq-length, as google's readers want it; --no-pad: as long as the text, "
    "without input_mask");
}

Result<> BertOptions::check(const std::function<bool(const char*)>& given) const {
  for (const char* name : {"whole_word_masking", "masked_lm_prob", "max_predictions_per_seq"}) {
    if (masking == "static" || !given(name)) continue;
    std::string flag = "--";
    flag += name;
    std::ranges::replace(flag, '_', '-');
    return fail_hint(Code::kInvalidArgument, "add --masking static, or give it to the training",
                     "{} is about masks, which the training loop draws", flag);
  }
  if (!pairs && (sentence_order || given("short_seq_prob")))
    return fail(Code::kInvalidArgument, "{} is about pairs, and --no-pairs makes none",
                sentence_order ? "--sentence-order" : "--short-seq-prob");
  return {};
}

Result<std::shared_ptr<const BertRules>> BertRules::create(const BertOptions& options,
                                                           int64_t max_seq_length,
                                                           const AnyTokenizer& tokenizer, Key key) {
  auto rules = std::make_shared<BertRules>();
  rules->options = options;
  rules->max_seq_length = max_seq_length;
  HW_ASSIGN_OR_RETURN(rules->specials, tokenizer.special_ids());
  rules->key = key;
  const SpecialIds& ids = rules->specials;
  const double wanted = std::ceil(static_cast<double>(max_seq_length) * options.masked_lm_prob);
  WordMaskingRule& masking = rules->masking;
  masking.mask_prob = options.masked_lm_prob;
  masking.max_predictions = std::min(
      max_seq_length,
      options.max_predictions_per_seq.value_or(std::max<int64_t>(1, std::llround(wanted))));
  masking.mask_id = ids.mask;
  masking.vocab_size = tokenizer.size();
  masking.never = {ids.pad, ids.cls, ids.sep, ids.mask};
  if (options.whole_word_masking) {
    rules->words = WordBounds::of(tokenizer);
    masking.whole_words = &*rules->words;
  }
  return std::shared_ptr<const BertRules>(std::move(rules));
}

BertExamples::BertExamples(std::shared_ptr<const BertRules> rules)
    : rules_(std::move(rules)),
      packer_(rules_->max_seq_length, rules_->specials.cls, rules_->specials.sep) {}

void BertExamples::start_file(int64_t number) {
  open_ = {.file = number};
  file_ = number;
  packed_in_file_ = 0;
}

void BertExamples::add_text(std::span<const int32_t> ids, ExampleOutput&) {
  if (ids.empty()) return;
  if (!rules_->options.pairs)
    return packer_.add_sentence(ids, [&](std::span<const int32_t> full) { take_packed(full); });
  open_.ids.insert(open_.ids.end(), ids.begin(), ids.end());
  open_.ends.push_back(open_.ids.size());
  if (open_.ids.size() >= kMostTokens) close_part();
}

void BertExamples::end_document(ExampleOutput&) {
  packer_.end_document();
  close_part();
  ++open_.number;
  open_.part = 0;
}

void BertExamples::close_part() {
  if (open_.ends.empty()) return;
  documents_.push_back(open_);
  open_.ids.clear(), open_.ends.clear();
  ++open_.part;
}

void BertExamples::take_packed(std::span<const int32_t> ids) {
  const Key key = rules_->key.fold_in("segments")
                      .fold_in(static_cast<uint32_t>(file_))
                      .fold_in(static_cast<uint32_t>(packed_in_file_++));
  packed_.push_back({{ids.begin(), ids.end()}, key});
}

void BertExamples::finish() {
  packer_.finish([&](std::span<const int32_t> rest) { take_packed(rest); });
}

void BertExamples::make_copy(int64_t copy, std::span<const TokenizedDocument> documents,
                             const DocumentPool& pool, ExampleOutput& out) {
  const auto number = static_cast<uint32_t>(copy);
  for (const TokenizedDocument& document : documents) add_pairs(document, number, pool, out);
  for (const Packed& packed : packed_) {
    const SegmentExample example{.input_ids = packed.ids, .first_segment = std::ssize(packed.ids)};
    add_example(example, packed.key.fold_in(number), out);
  }
}

void BertExamples::add_pairs(const TokenizedDocument& document, uint32_t copy,
                             const DocumentPool& pool, ExampleOutput& out) {
  Key key = rules_->key.fold_in("pairs");
  for (const int64_t number : {document.file, document.number, document.part})
    key = key.fold_in(static_cast<uint32_t>(number));
  key = key.fold_in(copy);
  RandomStream random(key);
  PairBuilder builder({.max_seq_length = rules_->max_seq_length,
                       .short_seq_prob = rules_->options.short_seq_prob,
                       .sentence_order = rules_->options.sentence_order,
                       .cls = rules_->specials.cls,
                       .sep = rules_->specials.sep},
                      pool);
  uint32_t made = 0;
  builder.make(document, random, [&](const SegmentExample& example) {
    add_example(example, key.fold_in("masks").fold_in(made++), out);
  });
}

void BertExamples::add_example(const SegmentExample& example, Key key, ExampleOutput& out) {
  const BertOptions& options = rules_->options;
  ids_ = example.input_ids;
  const bool is_static = options.masking == "static";
  if (is_static) draw_masks(ids_, key);
  lists_.assign(ids_, example.first_segment, options.pad ? rules_->max_seq_length : 0,
                rules_->specials.pad);
  std::vector<IntFeature> ints = {{"input_ids", lists_.input_ids}};
  std::vector<FloatFeature> floats;
  if (options.pad) ints.push_back({"input_mask", lists_.input_mask});
  const int32_t label = example.label.value_or(false) ? 1 : 0;
  if (example.label) {
    ints.push_back({"segment_ids", lists_.segment_ids});
    ints.push_back({"next_sentence_labels", std::span(&label, 1)});
  }
  if (is_static) {
    ints.push_back({"masked_lm_positions", masked_positions_});
    ints.push_back({"masked_lm_ids", masked_ids_});
    floats.push_back({"masked_lm_weights", masked_weights_});
  }
  out.add(ints, floats);
  count(example, out);
}

void BertExamples::draw_masks(std::span<int32_t> ids, Key key) {
  const auto slots = static_cast<size_t>(rules_->masking.max_predictions);
  const std::vector<int32_t> real(ids.size(), 1);
  masked_positions_.resize(slots);
  masked_ids_.resize(slots);
  const int64_t used = mask_words(ids, real, rules_->masking, key, masked_positions_, masked_ids_);
  std::fill(masked_ids_.begin() + used, masked_ids_.end(), 0);
  masked_weights_.assign(static_cast<size_t>(used), 1.0F);
  masked_weights_.resize(slots, 0.0F);
}

void BertExamples::count(const SegmentExample& example, ExampleOutput& out) const {
  const SpecialIds& specials = rules_->specials;
  const auto framing = std::ranges::count_if(
      example.input_ids, [&](int32_t id) { return id == specials.cls || id == specials.sep; });
  BuildCounts& counts = out.counts;
  counts.special_tokens += framing;
  counts.kept_tokens += std::ssize(example.input_ids) - framing;
  counts.lost_tokens += example.lost_tokens;
  if (!example.label) return;
  ++counts.pairs;
  counts.positive_pairs += *example.label ? 1 : 0;
  counts.same_document_pairs += example.same_document ? 1 : 0;
}

}  // namespace headwater
