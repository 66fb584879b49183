#include "records/record_stats.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checked.h"

namespace headwater {
namespace {

constexpr size_t kMaxFeatures = 1000;  // distinct keys that are told apart

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

int64_t size_of(const FeatureValues& values) {
  return std::visit(
      [](const auto& list) -> int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>) return 0;
        else return static_cast<int64_t>(list.size());
      },
      values);
}

void add_features(const Example& example, std::map<std::string, FeatureStats>& features) {
  for (const auto& [key, values] : example) {
    auto it = features.find(key);
    if (it == features.end() && features.size() >= kMaxFeatures) continue;
    if (it == features.end()) it = features.emplace(key, FeatureStats()).first;
    FeatureStats& stats = it->second;
    const int64_t size = size_of(values);
    stats.shortest = stats.examples == 0 ? size : std::min(stats.shortest, size);
    stats.longest = std::max(stats.longest, size);
    stats.types[values.index()] = true;
    ++stats.examples;
  }
}

// What is looked at in an example.
struct Look {
  std::optional<SpecialIds> special = {};
  int64_t vocabulary_size = 0;  // 0: not known
  bool zeros_are_padding = true;
};

Result<Look> look_for(const StatsOptions& options) {
  Look look{.zeros_are_padding = options.zeros_are_padding};
  if (options.tokenizer == nullptr) return look;
  look.vocabulary_size = options.tokenizer->size();
  if (options.tokenizer->word_pieces() == nullptr) return look;  // knows every text
  HW_ASSIGN_OR_RETURN(look.special, options.tokenizer->special_ids());
  return look;
}

// Calls visit(position, id) for every token.
template <class Visit>
void visit_tokens(const std::vector<int64_t>& ids, const std::vector<int64_t>* mask,
                  bool zeros_are_padding, Visit visit) {
  if (mask != nullptr && mask->size() != ids.size()) mask = nullptr;
  size_t end = ids.size();
  while (mask == nullptr && zeros_are_padding && end > 0 && ids[end - 1] == 0) --end;
  for (size_t i = 0; i < end; ++i) {
    if (mask == nullptr || (*mask)[i] != 0) visit(i, ids[i]);
  }
}

void add_example(const Example& example, const Look& look,
                 const std::function<std::string()>& where, RecordStats& stats) {
  add_features(example, stats.features);
  const auto* ids = find_ints(example, "input_ids");
  if (ids == nullptr) return;
  const auto* segments = find_either(example, "segment_ids", "token_type_ids");
  if (segments != nullptr && segments->size() != ids->size()) segments = nullptr;
  ++stats.examples;
  stats.positions += static_cast<int64_t>(ids->size());
  LengthStats& length = stats.sequence_lengths[static_cast<int64_t>(ids->size())];
  if (length.examples++ == 0) length.first = where();
  int64_t count = 0;
  bool second = false;
  const auto* mask = find_either(example, "input_mask", "attention_mask");
  visit_tokens(*ids, mask, look.zeros_are_padding, [&](size_t i, int64_t id) {
    ++count;
    second = second || (segments != nullptr && (*segments)[i] == 1);
    stats.largest_id = std::max(stats.largest_id, id);
    const bool outside = id < 0 || id >= look.vocabulary_size;
    if (look.vocabulary_size > 0 && outside) ++stats.outside_vocabulary;
    if (!look.special) return;
    if (id == look.special->pad || id == look.special->cls || id == look.special->sep) return;
    ++stats.ordinary;
    stats.unknown += id == look.special->unk ? 1 : 0;
  });
  stats.tokens += count;
  stats.two_segments += second ? 1 : 0;
  ++stats.token_counts[count];
}

Result<RecordStats> file_stats(FileSystem& fs, const FileInfo& file, const Look& look,
                               const RecordReaderOptions& options, const ByteMeter& meter) {
  RecordStats stats;
  stats.files = 1;
  stats.bytes = file.size;
  HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(fs, file.path, options));
  while (true) {
    HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
    meter(reader.byte_offset());
    if (!payload) break;
    ++stats.records;
    const auto example = parse_example(*payload);
    if (!example) {
      ++stats.not_examples;
      continue;
    }
    const auto where = [&] {
      return fmt::format("{}, record {} (counted from 0)", file.path, reader.record_index());
    };
    add_example(*example, look, where, stats);
  }
  stats.damages = reader.damages_skipped();
  stats.empty_files = stats.records == 0 ? 1 : 0;
  return stats;
}

}  // namespace

double RecordStats::fill_rate() const { return ratio(tokens, positions); }
double RecordStats::unknown_rate() const { return ratio(unknown, ordinary); }

void RecordStats::add(const RecordStats& other) {
  files += other.files;
  empty_files += other.empty_files;
  bytes += other.bytes;
  records += other.records;
  not_examples += other.not_examples;
  damages += other.damages;
  examples += other.examples;
  positions += other.positions;
  tokens += other.tokens;
  two_segments += other.two_segments;
  ordinary += other.ordinary;
  unknown += other.unknown;
  outside_vocabulary += other.outside_vocabulary;
  largest_id = std::max(largest_id, other.largest_id);
  for (const auto& [length, count] : other.token_counts) token_counts[length] += count;
  for (const auto& [length, their] : other.sequence_lengths) {
    LengthStats& our = sequence_lengths[length];
    if (our.examples == 0) our.first = their.first;
    our.examples += their.examples;
  }
  for (const auto& [key, their] : other.features) {
    auto it = features.find(key);
    if (it == features.end()) {
      if (features.size() < kMaxFeatures) features.emplace(key, their);
      continue;
    }
    FeatureStats& our = it->second;
    our.examples += their.examples;
    our.shortest = std::min(our.shortest, their.shortest);
    our.longest = std::max(our.longest, their.longest);
    for (size_t i = 0; i < our.types.size(); ++i) our.types[i] = our.types[i] || their.types[i];
  }
}

TokenHistogram histogram(const std::map<int64_t, int64_t>& token_counts, int64_t bins) {
  TokenHistogram result;
  if (token_counts.empty()) return result;
  const int64_t low = token_counts.begin()->first, high = token_counts.rbegin()->first;
  const int64_t width = std::max<int64_t>(1, ceil_div(high - low + 1, bins));
  for (int64_t start = low; start <= high; start += width) {
    int64_t examples = 0;
    const auto end = token_counts.lower_bound(start + width);
    for (auto it = token_counts.lower_bound(start); it != end; ++it) examples += it->second;
    result.bins.push_back({start, std::min(high, start + width - 1), examples});
  }
  return result;
}

Result<RecordStats> gather_stats(FileSystem& fs, const std::vector<FileInfo>& files,
                                 const StatsOptions& options) {
  HW_ASSIGN_OR_RETURN(const Look look, look_for(options));
  std::vector<Result<RecordStats>> parts(files.size());
  for_each_record_file(files, "counting", [&](size_t i, const ByteMeter& meter) {
    parts[i] = file_stats(fs, files[i], look, options.reader, meter);
  });
  RecordStats all;
  for (const Result<RecordStats>& part : parts) {
    if (!part) return part;
    all.add(*part);
  }
  return all;
}

Json to_json(const RecordStats& stats, bool with_vocabulary) {
  Json json = {{"files", stats.files},
               {"empty_files", stats.empty_files},
               {"bytes", stats.bytes},
               {"records", stats.records},
               {"not_examples", stats.not_examples},
               {"damages_skipped", stats.damages},
               {"examples", stats.examples},
               {"tokens", stats.tokens},
               {"positions", stats.positions},
               {"fill_rate", stats.fill_rate()},
               {"two_segments", stats.two_segments},
               {"largest_id", stats.largest_id}};
  if (with_vocabulary) {
    json["unknown_tokens"] = stats.unknown;
    json["ordinary_tokens"] = stats.ordinary;
    json["unknown_rate"] = stats.unknown_rate();
    json["outside_vocabulary"] = stats.outside_vocabulary;
  }
  Json lengths = Json::array();
  for (const auto& [length, facts] : stats.sequence_lengths)
    lengths.push_back({{"length", length}, {"examples", facts.examples}, {"first", facts.first}});
  json["sequence_lengths"] = std::move(lengths);
  Json features = Json::object();
  for (const auto& [key, facts] : stats.features) {
    Json types = Json::array();
    for (size_t i = 0; i < facts.types.size(); ++i) {
      if (facts.types[i]) types.push_back(feature_type_name(static_cast<FeatureType>(i)));
    }
    features[key] = {{"examples", facts.examples},
                     {"types", std::move(types)},
                     {"shortest", facts.shortest},
                     {"longest", facts.longest}};
  }
  json["features"] = std::move(features);
  Json counts = Json::array();
  for (const auto& [tokens, examples] : stats.token_counts)
    counts.push_back({{"tokens", tokens}, {"examples", examples}});
  json["token_counts"] = std::move(counts);
  return json;
}

}  // namespace headwater
