#include "text/basic_normalizer.h"

#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/json.h"
#include "io/file.h"
#include "text/unicode_rules.h"
#include "text/utf8.h"

namespace headwater {
namespace {

Json golden(const std::string& name) {
  const auto content = read_file(local_files(), HW_TESTS_DIR "/golden/text/" + name);
  if (!content) throw std::runtime_error(content.error().to_string());
  auto json = parse_json(*content, name);
  if (!json) throw std::runtime_error(json.error().to_string());
  return *std::move(json);
}

using Ranges = std::vector<std::pair<char32_t, char32_t>>;

bool within(char32_t c, const Json& ranges) {
  for (const Json& range : ranges)
    if (c >= range[0].get<char32_t>() && c <= range[1].get<char32_t>()) return true;
  return false;
}

void extend(Ranges& ranges, char32_t c) {
  if (!ranges.empty() && ranges.back().second + 1 == c) {
    ranges.back().second = c;
  } else {
    ranges.emplace_back(c, c);
  }
}

std::string text_of(const std::vector<NormalizedChar>& chars) {
  std::string out;
  for (const NormalizedChar& c : chars) append_utf8(c.code_point, out);
  return out;
}

// Every code point by itself, against the peers' own answers.
void check_every_code_point(Dialect dialect, const Json& expected, const Json& left_out) {
  const BasicNormalizer cased({false, false, dialect});
  const BasicNormalizer lower({true, false, dialect});
  const BasicNormalizer fold({true, true, dialect});
  const UnicodeRules rules(dialect);
  std::map<std::string, Ranges> found;
  std::vector<NormalizedChar> chars;
  for (char32_t block = 0; block < 0x110; ++block) {
    std::string lowered, folded;
    for (char32_t c = block << 12; c < (block + 1) << 12; ++c) {
      if ((c >= 0xD800 && c < 0xE000) || within(c, left_out)) continue;
      const auto entry = cased.entry(c);
      if (entry.kind == CharKind::kDropped) extend(found["dropped"], c);
      if (entry.kind == CharKind::kSpace) extend(found["space"], c);
      if (entry.kind == CharKind::kIsolated)
        extend(found[rules.is_ideograph(c) ? "ideograph" : "punctuation"], c);
      if (entry.kind != CharKind::kWord && entry.kind != CharKind::kIsolated) continue;
      std::string text;
      append_utf8(c, text);
      lower.normalize(text, chars);
      lowered += text_of(chars) + "\n";
      fold.normalize(text, chars);
      folded += text_of(chars) + "\n";
    }
    ASSERT_EQ(sha256_hex(lowered).substr(0, 16), expected["lower"][block])
        << "block " << uint32_t{block};
    ASSERT_EQ(sha256_hex(folded).substr(0, 16), expected["fold"][block])
        << "block " << uint32_t{block};
  }
  for (const auto& [kind, ranges] : found) {
    Json as_json = Json::array();
    for (const auto& [first, last] : ranges) as_json.push_back({first, last});
    EXPECT_EQ(as_json, expected[kind]) << kind;
  }
}

TEST(BasicNormalizer, EveryCodePointAsTheAuthorsCode) {
  const Json json = golden("char_classes.json");
  const Json& left_out = json["unicode_15"];
  for (char32_t c = 0; c < 0x110000; ++c) {
    UVersionInfo version = {};
    u_charAge(static_cast<UChar32>(c), version);
    ASSERT_TRUE(version[0] != 15 || within(c, left_out)) << uint32_t{c};
  }
  check_every_code_point(Dialect::kElectra, json["electra"], left_out);
}

TEST(BasicNormalizer, EveryCodePointAsHuggingFace) {
  check_every_code_point(Dialect::kHuggingFace, golden("char_classes.json")["hf"], Json::array());
}

std::string words_of(const BasicNormalizer& normalizer, const std::string& text) {
  std::vector<NormalizedChar> chars;
  normalizer.normalize(text, chars);
  std::string out;
  bool glue = false;
  for (const NormalizedChar& c : chars) {
    EXPECT_LT(c.begin, c.end);
    EXPECT_LE(c.end, text.size());
    if (c.kind != CharKind::kSpace) {
      if (!out.empty() && !(glue && c.kind == CharKind::kWord)) out += ' ';
      append_utf8(c.code_point, out);
    }
    glue = c.kind == CharKind::kWord;
  }
  return out;
}

// Texts whose characters act on each other: marks that change places, final sigma.
TEST(BasicNormalizer, RandomTextsAsThePeers) {
  const auto content = read_file(local_files(), HW_TESTS_DIR "/golden/text/basic_words.jsonl");
  ASSERT_TRUE(content);
  struct Setting {
    std::string name;
    bool lower, strip;
  };
  int rows = 0;
  for (size_t i = 0; i < content->size(); ++rows) {
    const size_t end = content->find('\n', i);
    const auto row = parse_json(std::string_view(*content).substr(i, end - i), "basic_words");
    ASSERT_TRUE(row);
    i = end + 1;
    const std::string text = (*row)["text"];
    for (const Setting& s : {Setting{"cased", false, false}, Setting{"lower", true, true},
                             Setting{"keep", true, false}}) {
      static std::map<std::string, BasicNormalizer> cache;
      const auto get = [&](Dialect d) -> const BasicNormalizer& {
        const std::string key = s.name + (d == Dialect::kElectra ? "e" : "h");
        return cache.try_emplace(key, NormalizerOptions{s.lower, s.strip, d}).first->second;
      };
      const std::string electra = (*row)["electra_" + s.name];
      EXPECT_EQ(words_of(get(Dialect::kElectra), text), electra) << s.name << ": " << text;
      EXPECT_EQ(words_of(get(Dialect::kHuggingFace), text), row->value("hf_" + s.name, electra))
          << s.name << ": " << text;
    }
  }
  EXPECT_EQ(rows, 400);
}

TEST(BasicNormalizer, FinalSigmaLooksThroughPunctuationButNotSpaces) {
  const BasicNormalizer normalizer({true, true, Dialect::kElectra});
  EXPECT_EQ(words_of(normalizer, "ΑΣ ΣΑΣ Σ"), "ας σας σ");
  EXPECT_EQ(words_of(normalizer, "ΑΣ.Β ΑΣ. Β"), "ασ . β ας . β");
  EXPECT_EQ(words_of(normalizer, "ΑΣ'Β Α\u200DΣ"), "ασ ' β ας");
  const BasicNormalizer hf({true, true, Dialect::kHuggingFace});
  EXPECT_EQ(words_of(hf, "ΑΣ"), "ασ");
}

TEST(BasicNormalizer, SourceBytes) {
  const BasicNormalizer normalizer({true, true, Dialect::kElectra});
  std::vector<NormalizedChar> chars;
  normalizer.normalize("É각\u0301", chars);
  ASSERT_EQ(chars.size(), 4u);
  EXPECT_EQ(chars[0].code_point, U'e');
  EXPECT_EQ(chars[0].end, 2u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(chars[i].begin, 2u);
    EXPECT_EQ(chars[i].end, 5u);
  }
}

}  // namespace
}  // namespace headwater
