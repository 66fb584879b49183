#include "text/normal_form.h"

#include <gtest/gtest.h>

#include <random>

#include "text/utf8.h"

namespace headwater {
namespace {

TEST(NormalForm, ComposesHangulAndLatin) {
  EXPECT_FALSE(is_normal("\u1112\u1161\u11ab글", NormalForm::kNfc));
  EXPECT_TRUE(is_normal("\u1112\u1161\u11ab글", NormalForm::kNone));
  EXPECT_EQ(to_normal_form("\u1112\u1161\u11ab글 cafe\u0301", NormalForm::kNfc), "한글 café");
  EXPECT_TRUE(is_normal("한글 café, ＡＢ ㅋ", NormalForm::kNfc));
  EXPECT_EQ(to_normal_form("한글", NormalForm::kNone), "한글");
}

// Plain NFKC makes conjoining jamo of the letters of laughter (case B019).
TEST(NormalForm, NfkcKeepsCompatibilityJamo) {
  EXPECT_EQ(to_normal_form("ㅋㅋ", NormalForm::kNfkc), "ㅋㅋ");
  EXPECT_TRUE(is_normal("ㅋㅋ ㅠㅠ", NormalForm::kNfkc));
  EXPECT_EQ(to_normal_form("ﾻ ﾡﾢ ￂￇ ￊￏ ￒￗ ￚￛￜ ﾠ", NormalForm::kNfkc),
            "ㅋ ㄱㄲ ㅏㅔ ㅕㅚ ㅛㅠ ㅡㅢㅣ \u3164");
  EXPECT_FALSE(is_normal("ﾻ", NormalForm::kNfkc));
  EXPECT_EQ(to_normal_form("\u110f", NormalForm::kNfkc), "\u110f");
  EXPECT_EQ(to_normal_form("ＡＢ１ ㎏ ﬁ", NormalForm::kNfkc), "AB1 kg fi");
}

TEST(NormalForm, JamoRunsAreCutAndSyllablesStay) {
  EXPECT_EQ(shorten_jamo_runs("스토리ㅋㅋㅋㅋㅋ", 2), "스토리ㅋㅋ");  // case B018
  EXPECT_EQ(shorten_jamo_runs("우와ㅋㅋㅋㅎㅎㅎㅠㅠ", 1), "우와ㅋㅎㅠ");
  EXPECT_EQ(shorten_jamo_runs("ㅋㅎㅋㅎ aaaa 가가가가", 1), "ㅋㅎㅋㅎ aaaa 가가가가");
  EXPECT_EQ(shorten_jamo_runs("", 3), "");
}

TEST(NormalForm, OffsetsLeadBack) {
  OffsetMap map;
  const std::string text = "ab\u1112\u1161\u11ab글e\u0301z";  // 2 + 9 + 3 + 3 + 1 bytes
  const std::string composed = to_normal_form(text, NormalForm::kNfc, &map);
  EXPECT_EQ(composed, "ab한글éz");
  EXPECT_EQ(map.original({0, 2}), (ByteRange{0, 2}));
  EXPECT_EQ(map.original({2, 5}), (ByteRange{2, 11}));
  EXPECT_EQ(map.original({5, 8}), (ByteRange{11, 14}));
  EXPECT_EQ(map.original({8, 10}), (ByteRange{14, 17}));
  EXPECT_EQ(map.original({10, 11}), (ByteRange{17, 18}));
  EXPECT_EQ(map.original({3, 4}), (ByteRange{2, 11}));  // inside a change: all of it

  OffsetMap cut;
  EXPECT_EQ(shorten_jamo_runs("가ㅋㅋㅋ나", 1, &cut), "가ㅋ나");
  EXPECT_EQ(cut.original({0, 6}), (ByteRange{0, 6}));
  EXPECT_EQ(cut.original({6, 9}), (ByteRange{12, 15}));
}

// Whatever the text: the form is stable, the map stays inside and unchanged characters lead to
// themselves.
TEST(NormalForm, RandomTexts) {
  std::mt19937 rng(11);
  const std::u32string pool =
      U"a\u0301\u0323\u1112\u1161\u11ab\uac00\u314b\uffbb\uff21\u212b\u0344\ufb01\u302e ";
  for (int round = 0; round < 3000; ++round) {
    std::u32string wide;
    for (size_t i = rng() % 20; i > 0; --i) wide.push_back(pool[rng() % pool.size()]);
    const std::string text = utf32_to_utf8(wide);
    for (const NormalForm form : {NormalForm::kNfc, NormalForm::kNfkc}) {
      OffsetMap map;
      const std::string out = to_normal_form(text, form, &map);
      ASSERT_EQ(to_normal_form(text, form), out);
      ASSERT_TRUE(is_normal(out, form)) << text;
      ASSERT_EQ(is_normal(text, form), out == text) << text;
      for (size_t i = 0; i < out.size();) {
        const size_t begin = i;
        const char32_t c = decode_utf8(out, i);
        const ByteRange source = map.original({begin, i});
        ASSERT_LT(source.begin, source.end);
        ASSERT_LE(source.end, text.size());
        if (c == U'a' || c == U' ') {
          ASSERT_NE(text.substr(source.begin, source.end - source.begin)
                        .find_first_of(c == U'a' ? "a\xEF" : " "),
                    std::string::npos);
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwater
