#include "finetune/features.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace headwater {
namespace {

constexpr size_t kStretch = 50;  // batches within which rows are sorted by length

void set_class_labels(const Task& task, const TaskExample& example, Feature& feature) {
  feature.labels = example.labels;
  feature.value = example.value;
  if (task.kind == TaskKind::kSingleLabel && feature.labels.empty()) feature.labels = {kNoLabel};
}

Result<Feature> encode_text(const Task& task, const TaskExample& example, const Encoder& encoder,
                            const EncodeRules& rules) {
  const EncodeOptions options{.max_length = rules.max_length};
  HW_ASSIGN_OR_RETURN(Encoding encoding,
                      task.pair_column.empty()
                          ? encoder.encode(example.text, options)
                          : encoder.encode_pair(example.text, example.pair, options));
  Feature feature;
  feature.input_ids = std::move(encoding.input_ids);
  feature.token_type_ids = std::move(encoding.token_type_ids);
  set_class_labels(task, example, feature);
  return feature;
}

Feature encode_words(const TaskExample& example, const Encoder& encoder, const EncodeRules& rules) {
  const SpecialIds& special = encoder.special_ids();
  Feature feature;
  const auto add = [&](int32_t id, int32_t word, int32_t label) {
    feature.input_ids.push_back(id);
    feature.words.push_back(word);
    feature.labels.push_back(label);
  };
  add(special.cls, -1, kNoLabel);
  std::vector<int32_t> pieces;
  for (size_t i = 0; i < example.words.size(); ++i) {
    pieces.clear();
    encoder.tokenizer().append_ids(example.words[i], pieces);
    if (pieces.empty()) pieces.push_back(special.unk);
    if (static_cast<int64_t>(feature.input_ids.size() + pieces.size()) >= rules.max_length) break;
    for (size_t k = 0; k < pieces.size(); ++k) {
      const bool asked = k == 0;
      add(pieces[k], asked ? static_cast<int32_t>(i) : -1,
          asked && i < example.labels.size() ? example.labels[i] : kNoLabel);
    }
  }
  add(special.sep, -1, kNoLabel);
  feature.token_type_ids.assign(feature.input_ids.size(), 0);
  return feature;
}

// The window's tokens that hold the answer; 0 and 0, which is [CLS], where it is not all there.
std::vector<int32_t> answer_tokens(const Feature& feature, const Answer& answer) {
  const auto begin = static_cast<int32_t>(answer.begin);
  const auto end = static_cast<int32_t>(answer.begin + answer.text.size());
  int32_t first = -1, last = -1;
  for (size_t i = 0; i < feature.context.size(); ++i) {
    const auto [from, to] = feature.context[i];
    if (to <= begin || from >= end) continue;
    if (first < 0) first = static_cast<int32_t>(i);
    last = static_cast<int32_t>(i);
  }
  const bool whole =
      first >= 0 && feature.context.front().begin <= begin && feature.context.back().end >= end;
  if (!whole) return {0, 0};
  const auto offset = static_cast<int32_t>(feature.context_begin);
  return {offset + first, offset + last};
}

Result<> encode_question(const TaskExample& example, const Encoder& encoder,
                         const EncodeRules& rules, std::vector<Feature>& rows) {
  const SpecialIds& special = encoder.special_ids();
  std::vector<int32_t> question;
  encoder.tokenizer().append_ids(example.text, question);
  question.resize(std::min(question.size(), static_cast<size_t>(rules.max_query_length)));
  const std::vector<Token> context = encoder.tokenizer().tokenize(example.pair);
  const int64_t room = rules.max_length - static_cast<int64_t>(question.size()) - 3;
  if (room < 1) {
    return fail_hint(Code::kInvalidArgument, "raise --max-seq-length or lower --max-query-length",
                     "a row of {} tokens has no room for a context", rules.max_length);
  }
  for (size_t start = 0;; start += static_cast<size_t>(rules.doc_stride)) {
    const size_t stop = std::min(context.size(), start + static_cast<size_t>(room));
    Feature feature;
    feature.input_ids = {special.cls};
    feature.input_ids.insert(feature.input_ids.end(), question.begin(), question.end());
    feature.input_ids.push_back(special.sep);
    feature.context_begin = static_cast<int64_t>(feature.input_ids.size());
    for (size_t i = start; i < stop; ++i) {
      feature.input_ids.push_back(context[i].id);
      feature.context.push_back(
          {static_cast<int32_t>(context[i].begin), static_cast<int32_t>(context[i].end)});
    }
    feature.input_ids.push_back(special.sep);
    feature.token_type_ids.assign(feature.input_ids.size(), 1);
    std::fill_n(feature.token_type_ids.begin(), feature.context_begin, 0);
    feature.labels = example.answers.empty() ? std::vector<int32_t>{0, 0}
                                             : answer_tokens(feature, example.answers.front());
    rows.push_back(std::move(feature));
    if (stop == context.size()) return {};
  }
}

void shuffle(std::vector<size_t>& items, RandomStream random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

std::vector<std::vector<size_t>> cut_batches(const std::vector<size_t>& order, size_t size) {
  std::vector<std::vector<size_t>> batches;
  for (size_t i = 0; i < order.size(); i += size) {
    const auto begin = order.begin() + static_cast<ptrdiff_t>(i);
    batches.emplace_back(begin, begin + static_cast<ptrdiff_t>(std::min(size, order.size() - i)));
  }
  return batches;
}

void add_labels(const Feature& feature, const BatchRules& rules, int64_t width, ModelBatch& batch) {
  const auto class_weight = [&](int32_t label) {
    return label < 0 ? 0.0F : rules.class_weights[static_cast<size_t>(label)];
  };
  const bool weighted = !rules.class_weights.empty();
  if (rules.kind == TaskKind::kRegression) {
    batch.label_values.push_back(feature.value);
  } else if (rules.kind == TaskKind::kMultiLabel) {
    const size_t row = batch.label_values.size();
    batch.label_values.resize(row + static_cast<size_t>(rules.labels));
    if (weighted) batch.label_weights.resize(batch.label_values.size(), 1);
    for (const int32_t label : feature.labels) {
      batch.label_values[row + static_cast<size_t>(label)] = 1;
      if (weighted) batch.label_weights[row + static_cast<size_t>(label)] = class_weight(label);
    }
  } else {
    const size_t row = batch.labels.size();
    batch.labels.insert(batch.labels.end(), feature.labels.begin(), feature.labels.end());
    if (rules.kind == TaskKind::kTokens)
      batch.labels.resize(row + static_cast<size_t>(width), kNoLabel);
    for (size_t i = row; weighted && i < batch.labels.size(); ++i)
      batch.label_weights.push_back(class_weight(batch.labels[i]));
  }
}

}  // namespace

int64_t FeatureSet::tokens() const {
  return std::accumulate(rows.begin(), rows.end(), int64_t{0}, [](int64_t sum, const Feature& row) {
    return sum + static_cast<int64_t>(row.input_ids.size());
  });
}

Result<FeatureSet> encode_examples(const Task& task, const TaskData& data, const Encoder& encoder,
                                   const EncodeRules& rules) {
  FeatureSet set;
  for (size_t i = 0; i < data.examples.size(); ++i) {
    const TaskExample& example = data.examples[i];
    const size_t first = set.rows.size();
    if (task.kind == TaskKind::kTokens) {
      set.rows.push_back(encode_words(example, encoder, rules));
    } else if (task.kind == TaskKind::kQuestions) {
      HW_RETURN_IF_ERROR(encode_question(example, encoder, rules, set.rows));
    } else {
      auto feature = encode_text(task, example, encoder, rules);
      if (!feature)
        return in_context(feature.error(), fmt::format("{}:{}", data.path, example.line));
      set.rows.push_back(*std::move(feature));
    }
    for (size_t row = first; row < set.rows.size(); ++row) {
      set.rows[row].example = static_cast<int64_t>(i);
      const bool full = static_cast<int64_t>(set.rows[row].input_ids.size()) >= rules.max_length;
      set.cut += full && task.kind != TaskKind::kQuestions ? 1 : 0;
    }
  }
  return set;
}

std::vector<std::vector<size_t>> epoch_batches(std::span<const Feature> rows, int64_t batch_size,
                                               bool by_length, uint64_t seed, int64_t epoch) {
  const Key key = Key::from_seed(seed).fold_in("order").fold_in(static_cast<uint32_t>(epoch));
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  shuffle(order, RandomStream(key));
  const auto size = static_cast<size_t>(batch_size);
  if (!by_length) return cut_batches(order, size);
  for (size_t i = 0; i < order.size(); i += size * kStretch) {
    const auto begin = order.begin() + static_cast<ptrdiff_t>(i);
    std::stable_sort(
        begin, begin + static_cast<ptrdiff_t>(std::min(size * kStretch, order.size() - i)),
        [&](size_t a, size_t b) { return rows[a].input_ids.size() > rows[b].input_ids.size(); });
  }
  const auto batches = cut_batches(order, size);
  std::vector<size_t> places(batches.size());
  std::iota(places.begin(), places.end(), size_t{0});
  shuffle(places, RandomStream(key.fold_in("batches")));
  std::vector<std::vector<size_t>> shuffled;
  shuffled.reserve(places.size());
  for (const size_t place : places) shuffled.push_back(batches[place]);
  return shuffled;
}

std::vector<std::vector<size_t>> ordered_batches(std::span<const Feature> rows,
                                                 int64_t batch_size) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return rows[a].input_ids.size() > rows[b].input_ids.size();
  });
  return cut_batches(order, static_cast<size_t>(batch_size));
}

ModelBatch make_model_batch(std::span<const Feature> rows, std::span<const size_t> chosen,
                            const BatchRules& rules) {
  size_t longest = 0;
  for (const size_t i : chosen) longest = std::max(longest, rows[i].input_ids.size());
  const int64_t width =
      std::max(static_cast<int64_t>(longest),
               std::min(rules.max_length, round_up(static_cast<int64_t>(longest), rules.multiple)));
  ModelBatch batch;
  batch.batch_size = static_cast<int64_t>(chosen.size());
  batch.seq_length = width;
  for (const size_t i : chosen) {
    const Feature& row = rows[i];
    const size_t end = batch.input_ids.size() + static_cast<size_t>(width);
    batch.input_ids.insert(batch.input_ids.end(), row.input_ids.begin(), row.input_ids.end());
    batch.input_ids.resize(end, rules.pad_id);
    batch.attention_mask.resize(end - static_cast<size_t>(width) + row.input_ids.size(), 1);
    batch.attention_mask.resize(end, 0);
    batch.token_type_ids.insert(batch.token_type_ids.end(), row.token_type_ids.begin(),
                                row.token_type_ids.end());
    batch.token_type_ids.resize(end, 0);
    add_labels(row, rules, width, batch);
  }
  return batch;
}

std::vector<float> balanced_weights(TaskKind kind, std::span<const TaskExample> examples,
                                    int64_t labels) {
  std::vector<double> counts(static_cast<size_t>(labels));
  double all = 0;
  for (const TaskExample& example : examples) {
    for (const int32_t label : example.labels) counts[static_cast<size_t>(label)] += 1, all += 1;
  }
  const auto rows = static_cast<double>(examples.size());
  std::vector<float> weights;
  for (const double count : counts) {
    const double own = std::max(count, 1.0);
    weights.push_back(static_cast<float>(kind == TaskKind::kMultiLabel
                                             ? std::max(rows - own, 1.0) / own
                                             : all / (static_cast<double>(labels) * own)));
  }
  return weights;
}

}  // namespace headwater
