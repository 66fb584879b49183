#include "tokens/decode_stream.h"

#include <gtest/gtest.h>

#include "io/memory_files.h"
#include "tokens/bpe_fixtures.h"
#include "tokens/token_stream.h"

namespace headwater {
namespace {

std::string pipe(const std::string& text, auto stream) {
  MemoryFileSystem fs;
  fs.put("in", text);
  auto source = fs.open_read("in");
  auto sink = fs.open_write("out");
  const auto done = stream(**source, **sink);
  if (!done) return done.error().to_string();
  EXPECT_TRUE((*sink)->close());
  return fs.files().at("out");
}

std::string decode(const std::string& ids, DecodeStreamOptions options = {}) {
  options.name = "in.ids";
  return pipe(ids, [&](ByteSource& source, ByteSink& sink) {
    return decode_stream(source, sink, must_create(mini_bpe()), options);
  });
}

std::string encode(const std::string& text, TokenFormat format) {
  return pipe(text, [&](ByteSource& source, ByteSink& sink) {
    return tokenize_stream(source, sink, must_create(mini_bpe()), {.format = format});
  });
}

TEST(DecodeStream, GivesBackTheLines) {
  const std::string text = "hello hello\n\n안녕하세요 😀\n  x\n";
  const std::string ids = encode(text, TokenFormat::kIds);
  for (const int64_t block : {1, 5, 1 << 20}) EXPECT_EQ(decode(ids, {.block_bytes = block}), text);
}

TEST(DecodeStream, JsonKeepsToTheLine) {
  EXPECT_EQ(decode(" 198 \t 198\n188\n161\n", {.json = true}), "\"\\n\\n\"\n\"\\u0000\"\n\"�\"\n");
}

TEST(DecodeStream, NamesTheLine) {
  EXPECT_EQ(decode("1 2\n1 x\n").substr(0, 26), "in.ids, line 2: 'x' is no ");
  EXPECT_NE(decode("1\n\n9999\n").find("in.ids, line 3: id 9999 is no token"), std::string::npos);
  EXPECT_NE(decode("1.5\n").find("'1.5' is no id"), std::string::npos);
  EXPECT_NE(decode("99999999999\n").find("is no id"), std::string::npos);
}

TEST(TokenStream, BytePairs) {
  EXPECT_EQ(encode("hello hello\n안\n", TokenFormat::kTokens), "hello Ġhello\nìķĪ\n");
  EXPECT_EQ(encode("hell 안\n", TokenFormat::kJson),
            "{\"ids\":[258,220,263],\"tokens\":[\"hell\",\"Ġ\",\"ìķĪ\"],"
            "\"offsets\":[[0,4],[4,5],[5,8]]}\n");
  MemoryFileSystem fs;
  fs.put("in", "a\n");
  auto source = fs.open_read("in");
  auto sink = fs.open_write("out");
  EXPECT_FALSE(
      tokenize_stream(**source, **sink, must_create(mini_bpe()), {.add_special_tokens = true}));
}

}  // namespace
}  // namespace headwater
