#include "tokens/vocabulary.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "io/fault_files.h"
#include "io/memory_files.h"
#include "tokens/mini_vocabulary.h"

namespace headwater {
namespace {

Result<Vocabulary> load(const std::string& content) {
  MemoryFileSystem fs;
  fs.put("v.txt", content);
  return Vocabulary::load(fs, "v.txt");
}

constexpr const char* kSpecials = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

TEST(Vocabulary, IdsAreLineNumbers) {
  const auto v = load(std::string(kSpecials) + "가\n##나");  // no line end at the end
  ASSERT_TRUE(v);
  EXPECT_EQ(v->size(), 7);
  EXPECT_EQ(v->find("가"), 5);
  EXPECT_EQ(v->find("##나"), 6);
  EXPECT_EQ(v->find("나"), std::nullopt);
  EXPECT_EQ(v->token(6), "##나");
  EXPECT_TRUE(v->notes().empty());
  EXPECT_EQ(*v->special_ids(), (SpecialIds{0, 1, 2, 3, 4}));
  EXPECT_EQ(v->digest(), sha256_hex(std::string(kSpecials) + "가\n##나\n"));
}

// Case B011.
TEST(Vocabulary, BlankLineKeepsItsIdAndIsNamed) {
  const auto v = load(std::string(kSpecials) + "가\n\n나\n");
  ASSERT_TRUE(v);
  EXPECT_EQ(v->find("나"), 7);
  ASSERT_EQ(v->notes().size(), 1u);
  EXPECT_NE(v->notes()[0].find("line 7 is blank"), std::string::npos) << v->notes()[0];
}

// Case B012: CR is stripped, and no character but LF ends a line.
TEST(Vocabulary, LineEnds) {
  const std::string lf = std::string(kSpecials) + "가\n나\u2028다\n라\n";
  std::string crlf = lf;
  for (size_t i = 0; (i = crlf.find('\n', i)) != std::string::npos; i += 2) crlf.insert(i, "\r");
  const auto a = load(lf), b = load(crlf);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->tokens(), b->tokens());
  EXPECT_EQ(a->digest(), b->digest());
  EXPECT_EQ(a->find("나\u2028다"), 6);
  EXPECT_EQ(a->find("라"), 7);
}

TEST(Vocabulary, RepeatedTokensKeepTheLastId) {
  const auto v = load(std::string(kSpecials) + "가\n나\n가\n나\n가\n다\n가\n");
  ASSERT_TRUE(v);
  EXPECT_EQ(v->find("가"), 11);
  EXPECT_EQ(v->find("나"), 8);
  EXPECT_EQ(v->size(), 12);
  ASSERT_EQ(v->notes().size(), 4u);
  EXPECT_EQ(v->notes()[0], "'가' stands on lines 6 and 8; id 7 counts");
  EXPECT_EQ(v->notes()[3], "... and 1 more repeated tokens");
}

TEST(Vocabulary, ByteOrderMarkAndWhiteSpaceGo) {
  const auto v = load("\xEF\xBB\xBF[PAD]\n [UNK] \n\u3000가\t\n");
  ASSERT_TRUE(v);
  EXPECT_EQ(v->find("[PAD]"), 0);
  EXPECT_EQ(v->find("[UNK]"), 1);
  EXPECT_EQ(v->find("가"), 2);
}

// Case B053: the file, its size, all that is missing.
TEST(Vocabulary, MissingSpecialsAreListed) {
  const auto v = load("[PAD]\n[UNK]\n[CLS]\na\n");
  ASSERT_TRUE(v);
  const auto special = v->special_ids();
  ASSERT_FALSE(special);
  EXPECT_EQ(special.error().code, Code::kInvalidArgument);
  EXPECT_NE(special.error().message.find("v.txt (4 tokens) lacks [SEP], [MASK]"), std::string::npos)
      << special.error().message;
}

TEST(Vocabulary, BadFiles) {
  MemoryFileSystem fs;
  EXPECT_EQ(Vocabulary::load(fs, "none").error().code, Code::kNotFound);
  EXPECT_FALSE(load(""));
  const auto bad = load("[PAD]\n\xEC\x95\n");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("v.txt: line 2 is not UTF-8"), std::string::npos);
  std::string many;
  for (int64_t i = 0; i <= Vocabulary::kMaxTokens; ++i) many += "a\n";
  EXPECT_FALSE(load(many));
  EXPECT_FALSE(Vocabulary::from_tokens({"a", "\xFF"}, "list"));
}

TEST(Vocabulary, ReadErrorsComeThrough) {
  MemoryFileSystem memory;
  memory.put("v.txt", kSpecials);
  FaultFileSystem fs(memory);
  fs.fail_read_at(1);
  EXPECT_FALSE(Vocabulary::load(fs, "v.txt"));
}

}  // namespace
}  // namespace headwater
