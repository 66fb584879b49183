// `records show`: what single records hold.
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "cli/verb.h"
#include "records/example.h"
#include "records/record_files.h"
#include "records/record_file.h"
#include "records/records_manifest.h"
#include "text/utf8.h"
#include "tokens/any_tokenizer.h"

namespace headwater {
namespace {

struct ShowOptions {
  std::vector<std::string> paths;
  int64_t max = 5, skip = 0;
  std::string vocab_file, on_damage = "stop";
  bool json = false;

  void describe(Fields& f) {
    f("paths", paths, "record files, quoted patterns, or folders (their files named *.tfrecord*)")
        .positional()
        .required()
        .value_name("PATH");
    f("max", max, "records to show").alias("n").non_negative();
    f("skip", skip, "records to pass over first").non_negative();
    f("vocab_file", vocab_file,
      "vocabulary of the records, or a tokenizer's file or folder: shows tokens for input_ids; "
      "without it, the one that the manifest beside them names, if it is still there")
        .alias("tokenizer")
        .value_name("FILE");
    f("on_damage", on_damage, "damaged records").one_of({"stop", "skip", "skip-file"});
    f("json", json, "print one JSON object per record and line");
  }
};

// Whatever decodes the tokens of the records; nothing where nothing does.
using Decoder = std::optional<AnyTokenizer>;

std::string token_text(const AnyTokenizer& tokenizer, int64_t id) {
  if (id >= 0 && id < tokenizer.size()) return tokenizer.token(id);
  return fmt::format("<{} is not in the vocabulary>", id);
}

// Tokens of each segment, padding left out.
std::array<std::vector<int64_t>, 2> segment_ids(const Example& example) {
  std::array<std::vector<int64_t>, 2> segments;
  const auto* ids = find_ints(example, "input_ids");
  const auto* mask = find_either(example, "input_mask", "attention_mask");
  const auto* segment = find_either(example, "segment_ids", "token_type_ids");
  for (size_t i = 0; ids != nullptr && i < ids->size(); ++i) {
    if (mask != nullptr && i < mask->size() && (*mask)[i] == 0) continue;
    const bool second = segment != nullptr && i < segment->size() && (*segment)[i] == 1;
    segments[second ? 1 : 0].push_back((*ids)[i]);
  }
  return segments;
}

std::vector<std::string> tokens_of(const AnyTokenizer& tokenizer, const std::vector<int64_t>& ids) {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int64_t id : ids) tokens.push_back(token_text(tokenizer, id));
  return tokens;
}

// Of byte-level BPE, whose tokens are hard to read: what they spell, with U+FFFD for a character
// that an example cuts in two.
std::optional<std::string> spelled(const AnyTokenizer& tokenizer, const std::vector<int64_t>& ids) {
  const BpeTokenizer* bpe = tokenizer.byte_pairs();
  if (bpe == nullptr) return std::nullopt;
  const std::vector<int32_t> narrow(ids.begin(), ids.end());
  auto text = bpe->decode(narrow);
  return text ? std::optional(replace_invalid_utf8(*text)) : std::nullopt;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// Bytes that are text as text, others as {"base64": ...}: nothing is lost.
Json bytes_json(const std::string& bytes) {
  if (!first_invalid_utf8(bytes)) return bytes;
  return {{"base64", base64(bytes)}};
}

Json float_json(float value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json values_json(const FeatureValues& values) {
  Json list = Json::array();
  if (values.index() == 0) return nullptr;
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&values)) return *ints;
  if (const auto* floats = std::get_if<std::vector<float>>(&values))
    for (const float value : *floats) list.push_back(float_json(value));
  if (const auto* bytes = std::get_if<std::vector<std::string>>(&values))
    for (const std::string& value : *bytes) list.push_back(bytes_json(value));
  return list;
}

std::string values_text(const FeatureValues& values) {
  std::string text;
  const auto add = [&](std::string_view value) {
    text += text.empty() ? "" : " ";
    text += value;
  };
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&values))
    for (const int64_t value : *ints) add(fmt::format("{}", value));
  if (const auto* floats = std::get_if<std::vector<float>>(&values))
    for (const float value : *floats) add(fmt::format("{}", value));
  if (const auto* bytes = std::get_if<std::vector<std::string>>(&values))
    for (const std::string& value : *bytes) add(dump_json(bytes_json(value)));
  return text;
}

std::string start_in_hex(std::string_view payload) {
  constexpr size_t kShown = 16;
  std::string text;
  for (const char c : payload.substr(0, kShown))
    text += fmt::format(" {:02x}", static_cast<uint8_t>(c));
  return text + (payload.size() > kShown ? " ..." : "");
}

struct Shown {
  const std::string& path;
  const RecordReader& reader;
  std::string_view payload;
  const Decoder& decoder;
};

std::string record_text(const Shown& shown) {
  std::string text =
      fmt::format("{}: record {} (counted from 0) at byte {}, {} bytes\n", shown.path,
                  shown.reader.record_index(), shown.reader.byte_offset(), shown.payload.size());
  const auto example = parse_example(shown.payload);
  if (!example) {
    return text +
           fmt::format("  not a tf.train.Example; begins with{}\n", start_in_hex(shown.payload));
  }
  for (const auto& [key, values] : *example) {
    text += fmt::format("  {} ({}): {}\n", key,
                        feature_type_name(static_cast<FeatureType>(values.index())),
                        values_text(values));
  }
  if (!shown.decoder) return text;
  const auto segments = segment_ids(*example);
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].empty()) continue;
    text +=
        fmt::format("  tokens {}: {}\n", "AB"[i], joined(tokens_of(*shown.decoder, segments[i])));
    if (const auto words = spelled(*shown.decoder, segments[i]))
      text += fmt::format("  text {}: {}\n", "AB"[i], dump_json(Json(*words)));
  }
  return text;
}

std::string record_json(const Shown& shown) {
  Json json = {{"file", shown.path},
               {"record", shown.reader.record_index()},
               {"byte_offset", shown.reader.byte_offset()},
               {"bytes", shown.payload.size()}};
  const auto example = parse_example(shown.payload);
  if (!example) {
    json["error"] = "not a tf.train.Example";
    json["payload"] = bytes_json(std::string(shown.payload));
    return dump_json(json) + "\n";
  }
  Json features = Json::object();
  for (const auto& [key, values] : *example) features[key] = values_json(values);
  json["features"] = std::move(features);
  if (!shown.decoder) return dump_json(json) + "\n";
  Json tokens = Json::array(), texts = Json::array();
  for (const std::vector<int64_t>& ids : segment_ids(*example)) {
    tokens.push_back(tokens_of(*shown.decoder, ids));
    if (const auto text = spelled(*shown.decoder, ids)) texts.push_back(*text);
  }
  json["tokens"] = std::move(tokens);
  if (!texts.empty()) json["texts"] = std::move(texts);
  return dump_json(json) + "\n";
}

// The one that was given, or the one of the manifest beside the files.
Result<Decoder> open_decoder(FileSystem& fs, const ShowOptions& options,
                             const std::vector<FileInfo>& files) {
  if (!options.vocab_file.empty()) {
    HW_ASSIGN_OR_RETURN(AnyTokenizer given, AnyTokenizer::open(fs, options.vocab_file));
    return Decoder(std::move(given));
  }
  const auto manifests = RecordsManifest::beside(fs, files);
  if (!manifests || manifests->empty()) return Decoder();
  auto tokenizer = manifests->front().open_tokenizer(fs);
  if (tokenizer) return Decoder(*std::move(tokenizer));
  log_info("tokens are not shown: {} (--tokenizer names another)", tokenizer.error().message);
  return Decoder();
}

Result<int> run_records_show(const ShowOptions& options) {
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, list_record_files(fs, options.paths));
  HW_ASSIGN_OR_RETURN(const Decoder decoder, open_decoder(fs, options, files));
  HW_ASSIGN_OR_RETURN(const DamagePolicy policy, parse_damage_policy(options.on_damage));
  int64_t seen = 0;
  for (const FileInfo& file : files) {
    HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(fs, file.path, {.policy = policy}));
    while (seen - options.skip < options.max) {
      HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
      if (!payload) break;
      if (seen++ < options.skip) continue;
      const Shown shown{file.path, reader, *payload, decoder};
      const std::string text = options.json ? record_json(shown) : record_text(shown);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  }
  return 0;
}

}  // namespace

Verb make_records_show_verb() {
  return make_verb<ShowOptions>(
      {.name = "records show",
       .summary = "print the records of TFRecord files",
       .description =
           "Decodes tf.train.Examples: every feature with its type and values, and, with the "
           "vocabulary, the tokens of each segment, and the text where a tokenizer is byte-level "
           "BPE.",
       .examples = {{"headwater records show records/ --vocab-file vocab.txt --max 2", ""},
                    {"headwater records show data.tfrecord --skip 1000 --max 1 --json", ""}}},
      run_records_show);
}

}  // namespace headwater
