#include "train/model_batches.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "records/record_file.h"
#include "records/record_files.h"

namespace headwater {
namespace {

constexpr int32_t kIgnored = -100;
constexpr double kSpareMaskProb = 0.005;  // as google's max_predictions_per_seq

bool is_masked_lm(Objective objective) {
  return objective == Objective::kMlm || predicts_sentences(objective);
}

const std::vector<int32_t>& ints_of(const Batch& batch, const std::string& name) {
  static const std::vector<int32_t> none;
  const BatchFeature* const feature = name.empty() ? nullptr : batch.find(name);
  return feature == nullptr ? none : feature->ints;
}

}  // namespace

Result<ModelBatchMaker> ModelBatchMaker::create(std::span<const FeatureSpec> features, bool packed,
                                                const ModelBatchRules& rules) {
  ModelBatchMaker maker(rules);
  for (const FeatureSpec& feature : features) HW_RETURN_IF_ERROR(maker.assign(feature.key));
  if (packed) {
    maker.parts_.position_ids = kPositionIds;
    maker.parts_.document_ids = kDocumentIds;
  }
  const Parts& parts = maker.parts_;
  maker.draws_masks_ = is_masked_lm(rules.objective) && parts.labels.empty() &&
                       (parts.masked_positions.empty() || parts.masked_ids.empty());
  HW_RETURN_IF_ERROR(maker.check());
  return maker;
}

Result<> ModelBatchMaker::assign(const std::string& name) {
  using Slot = std::string Parts::*;
  static const std::vector<std::pair<std::string_view, Slot>> slots = {
      {"input_ids", &Parts::input_ids},
      {"attention_mask", &Parts::attention_mask},
      {"input_mask", &Parts::attention_mask},
      {"token_type_ids", &Parts::token_type_ids},
      {"segment_ids", &Parts::token_type_ids},
      {"position_ids", &Parts::position_ids},
      {"labels", &Parts::labels},
      {"label_ids", &Parts::labels},
      {"label", &Parts::labels},
      {"masked_lm_positions", &Parts::masked_positions},
      {"masked_lm_ids", &Parts::masked_ids},
      {"masked_lm_weights", &Parts::masked_weights},
      {"next_sentence_label", &Parts::sentence_label},
      {"next_sentence_labels", &Parts::sentence_label},
      {"sentence_order_label", &Parts::sentence_label}};
  const auto found = std::ranges::find(slots, name, [](const auto& slot) { return slot.first; });
  // Segments mean nothing to a model without a table of them; token types that somebody gives a
  // GPT-2 are words to it, as in transformers.
  if (found == slots.end() || (name == "segment_ids" && !rules_.has_token_types)) {
    unused_.push_back(name);
    return {};
  }
  std::string& slot = parts_.*found->second;
  if (!slot.empty()) {
    return fail_hint(Code::kInvalidArgument, "name one of them in --features",
                     "the features {} and {} are the same to a model", slot, name);
  }
  slot = name;
  return {};
}

Result<> ModelBatchMaker::check() const {
  const auto missing = [&](std::string_view what) {
    return fail_hint(Code::kInvalidArgument, "describe the records with --features",
                     "the objective {} needs {} in the records", objective_name(rules_.objective),
                     what);
  };
  if (parts_.input_ids.empty()) return missing("input_ids");
  if (predicts_sentences(rules_.objective) && parts_.sentence_label.empty())
    return missing("next_sentence_label, or sentence_order_label");
  const bool needs_labels = rules_.objective == Objective::kRtd || asks_classes(rules_.objective);
  if (needs_labels && parts_.labels.empty()) return missing("labels");
  return {};
}

Result<ModelBatch> ModelBatchMaker::make(const Batch& batch) const {
  ModelBatch made;
  made.step = batch.step;
  made.batch_size = batch.rows;
  const BatchFeature* const ids = batch.find(parts_.input_ids);
  if (ids == nullptr || ids->shape.size() != 2 || ids->type != FeatureType::kInt64) {
    return fail_hint(Code::kInvalidArgument, "input_ids:int64[] reads it",
                     "input_ids is no list of numbers");
  }
  made.seq_length = ids->shape[1];
  made.input_ids = ids->ints;
  add_mask(batch, made);
  made.token_type_ids = ints_of(batch, parts_.token_type_ids);
  made.position_ids = ints_of(batch, parts_.position_ids);
  made.document_ids = ints_of(batch, parts_.document_ids);
  HW_RETURN_IF_ERROR(add_labels(batch, made));
  made.next_sentence_labels = ints_of(batch, parts_.sentence_label);
  for (size_t row = static_cast<size_t>(batch.real_rows); row < made.next_sentence_labels.size();
       ++row) {
    made.next_sentence_labels[row] = kIgnored;
  }
  if (draws_masks_) draw_masks(made);
  return made;
}

// A mask in any case: batches then are of one form, whether their rows are full or not.
void ModelBatchMaker::add_mask(const Batch& batch, ModelBatch& made) const {
  made.attention_mask = ints_of(batch, parts_.attention_mask);
  if (!made.attention_mask.empty()) return;
  const auto t = static_cast<size_t>(made.seq_length);
  made.attention_mask.assign(made.input_ids.size(), 0);
  for (size_t row = 0; row < batch.lengths.size(); ++row) {
    std::fill_n(made.attention_mask.begin() + static_cast<ptrdiff_t>(row * t), batch.lengths[row],
                1);
  }
}

Result<> ModelBatchMaker::add_labels(const Batch& batch, ModelBatch& made) const {
  if (rules_.objective == Objective::kClassification) return add_classes(batch, made);
  if (!parts_.labels.empty()) {
    made.labels = ints_of(batch, parts_.labels);
    return {};
  }
  return is_masked_lm(rules_.objective) && !draws_masks_ ? add_masked_labels(batch, made)
                                                         : Result<>();
}

Result<> ModelBatchMaker::add_classes(const Batch& batch, ModelBatch& made) const {
  const BatchFeature* const labels = batch.find(parts_.labels);
  if (labels == nullptr || labels->type == FeatureType::kBytes)
    return fail(Code::kInvalidArgument, "{} holds no numbers", parts_.labels);
  if (rules_.classifier.problem == ClassifierConfig::Problem::kSingleLabel) {
    made.labels = labels->ints;
    for (size_t row = static_cast<size_t>(batch.real_rows); row < made.labels.size(); ++row)
      made.labels[row] = kIgnored;
    return {};
  }
  made.label_values = labels->floats;
  if (labels->type == FeatureType::kInt64)
    made.label_values.assign(labels->ints.begin(), labels->ints.end());
  return {};
}

// Labels that were drawn when the records were built; a slot of weight 0 asks nothing.
Result<> ModelBatchMaker::add_masked_labels(const Batch& batch, ModelBatch& made) const {
  made.label_positions = ints_of(batch, parts_.masked_positions);
  made.labels = ints_of(batch, parts_.masked_ids);
  if (made.labels.size() != made.label_positions.size() || made.labels.empty()) {
    return fail(Code::kInvalidArgument, "{} has {} values, {} has {}", parts_.masked_positions,
                made.label_positions.size(), parts_.masked_ids, made.labels.size());
  }
  const BatchFeature* const weights = batch.find(parts_.masked_weights);
  const size_t slots = made.labels.size() / static_cast<size_t>(std::max<int64_t>(1, batch.rows));
  for (size_t i = 0; i < made.labels.size(); ++i) {
    const bool weighted = weights != nullptr && i < weights->floats.size();
    const bool used = weighted ? weights->floats[i] > 0 : made.label_positions[i] != 0;
    if (!used || i / slots >= static_cast<size_t>(batch.real_rows)) made.labels[i] = kIgnored;
  }
  return {};
}

void ModelBatchMaker::draw_masks(ModelBatch& made) const {
  const auto b = static_cast<size_t>(made.batch_size), t = static_cast<size_t>(made.seq_length);
  const auto wanted = static_cast<int64_t>((rules_.masking.mask_prob + kSpareMaskProb) *
                                           static_cast<double>(made.seq_length));
  WordMaskingRule rule = rules_.masking;
  if (rule.max_predictions == 0) rule.max_predictions = std::max<int64_t>(1, wanted);
  const auto n = static_cast<size_t>(std::min(rule.max_predictions, made.seq_length));
  made.label_positions.resize(b * n);
  made.labels.resize(b * n);
  const Key key = Key::from_seed(rules_.seed)
                      .fold_in(rules_.evaluates ? "evaluation masks" : "masks")
                      .fold_in(static_cast<uint32_t>(made.step));
  for (size_t row = 0; row < b; ++row) {
    mask_words(std::span(made.input_ids).subspan(row * t, t),
               std::span(made.attention_mask).subspan(row * t, t), rule,
               key.fold_in(static_cast<uint32_t>(row)),
               std::span(made.label_positions).subspan(row * n, n),
               std::span(made.labels).subspan(row * n, n));
  }
}

std::vector<std::span<const int32_t>> documents_of(const ModelBatch& batch) {
  std::vector<std::span<const int32_t>> documents;
  const auto t = static_cast<size_t>(batch.seq_length);
  const auto real = [&](size_t i) {
    return batch.attention_mask.empty() || batch.attention_mask[i] == 1;
  };
  const auto together = [&](size_t a, size_t b) {
    return batch.document_ids.empty() || batch.document_ids[a] == batch.document_ids[b];
  };
  for (size_t row = 0; row < batch.input_ids.size(); row += t) {
    for (size_t begin = row; begin < row + t;) {
      size_t end = begin;
      while (end < row + t && real(end) && together(begin, end)) ++end;
      if (end > begin) documents.push_back(std::span(batch.input_ids).subspan(begin, end - begin));
      begin = std::max(end, begin + 1);
    }
  }
  return documents;
}

Result<std::vector<FeatureSpec>> features_of_record(const Example& example) {
  constexpr std::string_view kLists[] = {"attention_mask", "input_mask", "token_type_ids",
                                         "segment_ids", "position_ids"};
  constexpr std::string_view kOthers[] = {"labels",
                                          "label_ids",
                                          "label",
                                          "masked_lm_ids",
                                          "masked_lm_weights",
                                          "masked_lm_positions",
                                          "next_sentence_label",
                                          "next_sentence_labels",
                                          "sentence_order_label"};
  const auto ids = example.find("input_ids");
  const auto* const tokens =
      ids == example.end() ? nullptr : std::get_if<std::vector<int64_t>>(&ids->second);
  if (tokens == nullptr) {
    return fail_hint(Code::kNotFound, "name the features with --features",
                     "the first record has no input_ids");
  }
  const auto list = [](std::string_view key, FeatureType type) {
    return FeatureSpec{
        .key = std::string(key), .type = type, .layout = FeatureSpec::Layout::kVariable};
  };
  std::vector<FeatureSpec> specs = {list("input_ids", FeatureType::kInt64)};
  specs.front().required = true;
  for (const std::string_view key : kLists) {
    if (example.contains(std::string(key))) specs.push_back(list(key, FeatureType::kInt64));
  }
  for (const std::string_view key : kOthers) {
    const auto found = example.find(std::string(key));
    if (found == example.end() || found->second.index() == 0) continue;
    const auto type = static_cast<FeatureType>(found->second.index());
    const auto size = std::visit(
        [](const auto& values) -> size_t {
          if constexpr (requires { values.size(); }) return values.size();
          return 0;
        },
        found->second);
    if (key == "labels" && size == tokens->size()) {
      specs.push_back(list(key, type));
      continue;
    }
    FeatureSpec fixed{.key = std::string(key), .type = type, .length = static_cast<int64_t>(size)};
    if (size != 1) fixed.shape = {fixed.length};
    specs.push_back(std::move(fixed));
  }
  return specs;
}

Result<std::vector<FeatureSpec>> find_features(FileSystem& fs, const std::string& records,
                                               RecordFormat format) {
  if (format == RecordFormat::kText) return parse_feature_specs("input_ids:int64[]");
  HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                      list_record_files(fs, split_patterns(records)));
  for (const FileInfo& file : files) {
    Example example;
    if (format == RecordFormat::kJsonLines) {
      HW_ASSIGN_OR_RETURN(const auto line, first_line(fs, file.path));
      if (!line) continue;
      HW_ASSIGN_OR_RETURN(example, example_of_json_line(*line));
    } else {
      HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(fs, file.path));
      HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
      if (!payload) continue;
      HW_ASSIGN_OR_RETURN(example, parse_example(*payload));
    }
    auto specs = features_of_record(example);
    if (!specs) return in_context(std::move(specs).error(), file.path);
    return specs;
  }
  return fail(Code::kNotFound, "{} holds no record", records);
}

}  // namespace headwater
