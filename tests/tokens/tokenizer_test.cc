#include "tokens/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "text/normal_form.h"
#include "tokens/fixtures.h"
#include "tokens/mini_vocabulary.h"
#include "tokens/reference_tokenizer.h"

namespace headwater {
namespace {

std::string tokens_of(const TokenizerOptions& options, const std::string& text) {
  return join_tokens(mini_vocabulary(), ids_of(must_create(mini_vocabulary(), options), text));
}

// Case B001: lower-casing with accent stripping takes Hangul apart; without stripping it does not.
TEST(Tokenizer, LowerCasingHangul) {
  EXPECT_EQ(tokens_of({}, "안녕하세요 오늘"), "안녕 ##하세요 오늘");
  EXPECT_EQ(tokens_of({.do_lower_case = true}, "안녕하세요 오늘"), "[UNK] [UNK]");
  EXPECT_EQ(tokens_of({.do_lower_case = true, .strip_accents = false}, "안녕하세요 GLAD"),
            "안녕 ##하세요 glad");
}

// Cases B002, B005: decomposed text, with and without composing it.
TEST(Tokenizer, DecomposedText) {
  const std::string decomposed = "\u110b\u1169\u1102\u1173\u11af";  // 오늘
  EXPECT_EQ(tokens_of({}, decomposed), "[UNK]");
  EXPECT_EQ(tokens_of({.normalize = "nfc"}, decomposed), "오늘");
  EXPECT_EQ(tokens_of({}, "cafe\u0301"), "[UNK]");
  EXPECT_EQ(tokens_of({.normalize = "nfc"}, "cafe\u0301"), tokens_of({}, "caf\u00e9"));
}

// Case B004: accents go only when asked for.
TEST(Tokenizer, AccentsOfCasedText) {
  EXPECT_EQ(tokens_of({}, "na\u00efve caf\u00e9"), "na ##ï ##ve caf ##é");
  EXPECT_EQ(tokens_of({.do_lower_case = true}, "NA\u00cfVE Cafe\u0301"), "na ##ive cafe");
  EXPECT_EQ(tokens_of({.strip_accents = true}, "na\u00efve"), "na ##ive");
}

// Cases B006, B007, B021.
TEST(Tokenizer, Emoji) {
  EXPECT_EQ(tokens_of({}, "glad😊"), "glad ##😊");
  EXPECT_EQ(tokens_of({}, "기분👍 👨‍👩‍👧 ❤️"), "[UNK] 👨👩👧 [UNK]");
  const TokenizerOptions isolate{.isolate_emoji = true};
  EXPECT_EQ(tokens_of(isolate, "glad😊"), "glad 😊");
  EXPECT_EQ(tokens_of(isolate, "기분👍 👨‍👩‍👧 ❤️"), "기분 👍 👨👩👧 ❤");
  EXPECT_EQ(tokens_of(isolate, "😊😊오늘🇰🇷"), "😊 😊 오늘 [UNK]");
}

// Cases B009, B024, B028: white space separates, controls vanish.
TEST(Tokenizer, WhiteSpaceAndControls) {
  EXPECT_EQ(tokens_of({}, "one\ttwo\rone\u3000two\u2028one"), "one two one two one");
  EXPECT_EQ(tokens_of({}, "one\u200btwo one\u0085two"), "one ##two one ##two");
  EXPECT_EQ(tokens_of({}, std::string("o\0n\be \x1b\uFFFD", 10)), "one");
  EXPECT_EQ(tokens_of({}, " \t\n"), "");
  EXPECT_EQ(tokens_of({}, ""), "");
}

// Case B016.
TEST(Tokenizer, LiteralSpecials) {
  EXPECT_EQ(tokens_of({}, "오늘[MASK]"), "오늘 [ [UNK] ]");
  const TokenizerOptions parse{.parse_specials = true};
  EXPECT_EQ(tokens_of(parse, "오늘[MASK] [SEP][mask] [UNK"),
            "오늘 [MASK] [SEP] [ m ##a ##s ##k ] [ [UNK]");
  // Composing or folding widths never makes a special of what was none.
  EXPECT_EQ(tokens_of({.normalize = "nfkc", .parse_specials = true}, "［MASK］"), "[ [UNK] ]");
}

// Cases B018, B019.
TEST(Tokenizer, Jamo) {
  EXPECT_EQ(tokens_of({.max_jamo_run = 2}, "스토리ㅋㅋㅋㅋㅋ"), "스토리 ##ㅋㅋ");
  EXPECT_EQ(tokens_of({.normalize = "nfkc"}, "ㅋ vs ﾻ"), "ㅋ v ##s ㅋ");
}

// Case B023.
TEST(Tokenizer, LongWords) {
  const auto count = [](const TokenizerOptions& options, size_t letters) {
    const std::string tokens = tokens_of(options, std::string(letters, 'a'));
    return tokens == "[UNK]" ? 0 : 1 + std::count(tokens.begin(), tokens.end(), ' ');
  };
  const TokenizerOptions hf{.compatibility = "hf"};
  EXPECT_EQ(count({}, 200), 200);
  EXPECT_EQ(count({}, 201), 0);
  EXPECT_EQ(count({}, 5000), 0);
  EXPECT_EQ(count(hf, 100), 100);
  EXPECT_EQ(count(hf, 101), 0);
  EXPECT_EQ(count({.max_word_chars = 4096}, 4096), 4096);
  EXPECT_EQ(count({.max_word_chars = 4096}, 4097), 0);
  // Behind a long word everything goes on as before.
  EXPECT_EQ(tokens_of({}, std::string(300, 'a') + " one"), "[UNK] one");
}

TEST(Tokenizer, UnassignedCodePoints) {
  EXPECT_EQ(tokens_of({}, "one\u0378two"), "one ##two");
  EXPECT_EQ(tokens_of({.compatibility = "hf"}, "one\u0378two"), "[UNK]");
}

TEST(Tokenizer, BadOptions) {
  const auto error = [](TokenizerOptions options, Vocabulary vocabulary = mini_vocabulary()) {
    const auto result = Tokenizer::create(std::move(vocabulary), std::move(options));
    return result ? "" : result.error().message;
  };
  EXPECT_NE(error({.compatibility = "bert"}), "");
  EXPECT_NE(error({.max_word_chars = -1}), "");
  EXPECT_NE(error({.max_word_chars = 5000}), "");
  EXPECT_NE(error({.normalize = "nfd"}), "");
  EXPECT_NE(error({.max_jamo_run = -1}), "");
  EXPECT_NE(error({}, *Vocabulary::from_tokens({"a", "b"}, "list")), "");
  const Tokenizer resolved = must_create(mini_vocabulary(), {.do_lower_case = true});
  EXPECT_EQ(resolved.options().max_word_chars, 200);
  EXPECT_TRUE(*resolved.options().strip_accents);
}

TEST(Tokenizer, OffsetsThroughRewriting) {
  const Tokenizer tokenizer = must_create(
      mini_vocabulary(),
      {.normalize = "nfc", .parse_specials = true, .isolate_emoji = true, .max_jamo_run = 1});
  //                        오늘 in 15 bytes, 😊 4, ㅋㅋ 6, [SEP] 5, one 3
  const std::string text = "\u110b\u1169\u1102\u1173\u11af😊ㅋㅋ[SEP]one";
  const std::vector<Token> tokens = tokenizer.tokenize(text);
  std::vector<int32_t> ids;
  for (const Token& token : tokens) ids.push_back(token.id);
  EXPECT_EQ(join_tokens(tokenizer.vocabulary(), ids), "오늘 😊 ㅋ [SEP] one");
  EXPECT_EQ(ids, ids_of(tokenizer, text));
  const std::vector<std::pair<size_t, size_t>> expected = {
      {0, 15}, {15, 19}, {19, 22}, {25, 30}, {30, 33}};
  ASSERT_EQ(tokens.size(), expected.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens[i].begin, expected[i].first) << i;
    EXPECT_EQ(tokens[i].end, expected[i].second) << i;
  }
}

// ---- any text: the one-pass tables agree with the plain reference ----

std::u32string random_text(std::mt19937& rng) {
  static const std::vector<std::u32string> pools = {U"abcdefgh",
                                                    U"ABC XYZ",
                                                    U" \t\u00a0\u3000",
                                                    U".,!?#[]",
                                                    U"안녕하세요오늘기분좋네스토리ㅋㅠ",
                                                    U"\u1100\u1161\u11a8\u1112\u1175",
                                                    U"ΣσςΑα.'\u200d",
                                                    U"\u0301\u0323\u034f\u0345\u1ab0",
                                                    U"\u302e\u302f\u094d\u1b44\u11938\U0001D165",
                                                    U"中文漢字\uf900\U0002f800",
                                                    U"\u0130\u00df\u1e9e\u01c5\ufb01\u212b",
                                                    U"😊👍\u200d\ufe0f\u20e3❤",
                                                    U"\u0378\ufffe\ue000\u00ad\ufeff\u0000\ufffd"};
  std::u32string text;
  const size_t pool_a = rng() % pools.size(), pool_b = rng() % pools.size();
  for (size_t i = rng() % 40; i > 0; --i) {
    const uint32_t choice = rng() % 16;
    if (choice == 0) {
      text += static_cast<char32_t>(rng() % 0xD800);
    } else if (choice == 1) {
      text += static_cast<char32_t>(0xE000 + rng() % (0x110000 - 0xE000));
    } else {
      const std::u32string& pool = pools[choice % 2 ? pool_a : pool_b];
      text += pool[rng() % pool.size()];
    }
  }
  return text;
}

// Pieces of such texts, so that many words have a split.
Vocabulary random_vocabulary(std::mt19937& rng) {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (int i = 0; i < 400; ++i) {
    const std::u32string text = random_text(rng);
    if (text.empty()) continue;
    const size_t begin = rng() % text.size();
    const std::string piece = utf32_to_utf8(text.substr(begin, 1 + rng() % 3));
    tokens.push_back(piece);
    tokens.push_back("##" + piece);
  }
  for (const char32_t c : U"abcdefghABCXYZ.,!안녕하세요오늘ㅋㅠ\u1100\u1161\u11a8σςα中文😊") {
    if (c == 0) continue;
    tokens.push_back(utf32_to_utf8({&c, 1}));
    if (rng() % 4) tokens.push_back("##" + tokens.back());
  }
  return *Vocabulary::from_tokens(std::move(tokens), "random");
}

TEST(TokenizerFuzz, AgreesWithTheReference) {
  std::mt19937 rng(2024);
  for (int round = 0; round < 12; ++round) {
    const Vocabulary vocabulary = random_vocabulary(rng);
    TokenizerOptions options;
    options.do_lower_case = round % 2 == 1;
    options.strip_accents = round % 3 != 0;
    options.compatibility = round % 4 < 2 ? "electra" : "hf";
    options.max_word_chars = round % 5 == 0 ? 7 : 0;
    const Tokenizer tokenizer = must_create(vocabulary, options);
    const ReferenceTokenizer reference(vocabulary, options);
    for (int i = 0; i < 600; ++i) {
      const std::string text = utf32_to_utf8(random_text(rng));
      const std::vector<int32_t> ids = ids_of(tokenizer, text);
      ASSERT_EQ(ids, reference.ids(text)) << "round " << round << ": " << text;
      const std::vector<Token> tokens = tokenizer.tokenize(text);
      ASSERT_EQ(tokens.size(), ids.size());
      for (size_t k = 0; k < ids.size(); ++k) {
        ASSERT_EQ(tokens[k].id, ids[k]);
        ASSERT_LT(tokens[k].begin, tokens[k].end) << text;
        ASSERT_LE(tokens[k].end, text.size());
      }
    }
  }
}

// Options that rewrite the text: the same as rewriting it first.
TEST(TokenizerFuzz, NormalFormFirst) {
  std::mt19937 rng(99);
  const Vocabulary vocabulary = random_vocabulary(rng);
  const Tokenizer plain = must_create(vocabulary);
  const Tokenizer nfc = must_create(vocabulary, {.normalize = "nfc"});
  const Tokenizer everything = must_create(
      vocabulary,
      {.normalize = "nfkc", .parse_specials = true, .isolate_emoji = true, .max_jamo_run = 1});
  for (int i = 0; i < 3000; ++i) {
    const std::string text = utf32_to_utf8(random_text(rng));
    ASSERT_EQ(ids_of(nfc, text), ids_of(plain, to_normal_form(text, NormalForm::kNfc))) << text;
    std::vector<int32_t> ids;
    for (const Token& token : everything.tokenize(text)) {
      ids.push_back(token.id);
      ASSERT_LE(token.begin, token.end);
      ASSERT_LE(token.end, text.size());
    }
    ASSERT_EQ(ids, ids_of(everything, text)) << text;
  }
}

// Random bytes, as they come after repair; long lines without and with spaces.
TEST(TokenizerFuzz, RepairedBytesAndLongLines) {
  std::mt19937 rng(5);
  const Tokenizer tokenizer = must_create(mini_vocabulary(), {.do_lower_case = true});
  const ReferenceTokenizer reference(mini_vocabulary(), {.do_lower_case = true});
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (size_t n = rng() % 60; n > 0; --n) bytes.push_back(static_cast<char>(rng()));
    const std::string text = replace_invalid_utf8(bytes);
    ASSERT_EQ(ids_of(tokenizer, text), reference.ids(text));
  }
  std::string line;
  for (int i = 0; i < 30000; ++i) line += i % 7 == 0 ? "one two, " : "a";
  EXPECT_EQ(ids_of(tokenizer, line), reference.ids(line));
  EXPECT_EQ(ids_of(tokenizer, std::string(300000, 'a')), std::vector<int32_t>{1});
  EXPECT_EQ(ids_of(tokenizer, std::string(30000, '!')).size(), 30000u);
}

// ---- the recorded answers of the ELECTRA authors' code on the case files ----

TEST(TokenizerCases, ReferenceIds) {
  HW_NEEDS_SHARED("cases/vocab_mini.txt");
  const Vocabulary vocabulary = must_load(shared_path("cases/vocab_mini.txt"));
  int files = 0;
  for (const Json& row : read_json_lines(shared_path("cases/reference_dev.jsonl"))) {
    const std::string file = row["file"];
    if (!file.starts_with("txt_")) continue;
    const bool lower = row["lower"];
    std::string content = must_read(shared_path("cases/" + file));
    if (row["reference"].contains("error")) {
      EXPECT_EQ(first_invalid_utf8(content), 8u);  // case B008
      continue;
    }
    const Tokenizer tokenizer = must_create(vocabulary, {.do_lower_case = lower});
    size_t line = 0;
    for (const Json& expected : row["reference"]["ok"]) {
      const size_t end = std::min(content.find('\n', line), content.size());
      EXPECT_EQ(ids_of(tokenizer, content.substr(line, end - line)),
                expected.get<std::vector<int32_t>>())
          << file << (lower ? " lower" : "");
      line = end + 1;
    }
    ++files;
  }
  EXPECT_GE(files, 18);
}

}  // namespace
}  // namespace headwater
