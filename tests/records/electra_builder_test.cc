#include "records/electra_builder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "base/json.h"
#include "io/file.h"
#include "text/white_space.h"
#include "tokens/tokenizer.h"

namespace headwater {
namespace {

const std::string kGolden = HW_TESTS_DIR "/golden/builder/";
constexpr int32_t kCls = 2, kSep = 3;

Json load_json(const std::string& name) {
  auto text = read_file(local_files(), kGolden + name);
  EXPECT_TRUE(text.has_value()) << text.error().to_string();
  return *parse_json(*text, name);
}

// Draws read from a record; every call must be of the recorded kind.
ElectraDraws recorded_draws(const Json& draws) {
  struct Replay {
    Json draws;
    size_t next = 0;
    Json take(const std::string& kind) {
      EXPECT_LT(next, draws.size()) << "more draws than recorded";
      if (next >= draws.size()) return Json::array({kind, 0, 0, 0});
      EXPECT_EQ(draws[next][0], kind) << "draw " << next;
      return draws[next++];
    }
  };
  auto replay = std::make_shared<Replay>();
  replay->draws = draws;
  return {[replay] { return replay->take("random")[1].get<double>(); },
          [replay](int64_t first, int64_t last) {
            const Json draw = replay->take("randint");
            EXPECT_EQ(draw[1], first);
            EXPECT_EQ(draw[2], last);
            return draw[3].get<int64_t>();
          }};
}

std::vector<int32_t> padded(std::vector<int32_t> values, int64_t length) {
  values.resize(static_cast<size_t>(length), 0);
  return values;
}

void expect_example(const ElectraExample& made, const Json& expected, int64_t length) {
  const auto n = made.input_ids.size();
  std::vector<int32_t> segments(n, 1);
  std::fill_n(segments.begin(), made.first_segment, 0);
  EXPECT_EQ(padded(made.input_ids, length), expected["input_ids"].get<std::vector<int32_t>>());
  EXPECT_EQ(padded(std::vector<int32_t>(n, 1), length),
            expected["input_mask"].get<std::vector<int32_t>>());
  EXPECT_EQ(padded(segments, length), expected["segment_ids"].get<std::vector<int32_t>>());
}

std::vector<ElectraExample> replay_case(const Json& recorded, const Tokenizer& tokenizer) {
  Json draws = recorded["draws"];
  const Json files = draws[0][1];
  draws.erase(0);
  ElectraExampleBuilder builder(recorded["max_seq_length"].get<int64_t>(), kCls, kSep,
                                recorded_draws(draws));
  std::vector<ElectraExample> examples;
  ElectraExample example;
  const auto keep = [&](bool made) {
    if (made) examples.push_back(example);
  };
  for (int64_t pass = 0; pass < recorded["corpus_repeats"].get<int64_t>(); ++pass) {
    for (const Json& file : files) {
      std::istringstream lines(
          *read_file(local_files(), kGolden + "corpus/" + file.get<std::string>()));
      for (std::string line; std::getline(lines, line);) {
        const auto text = strip_white_space(line);
        std::vector<int32_t> ids;
        tokenizer.append_ids(text, ids);
        if (!text.empty()) keep(builder.add_sentence(ids, example));
        else if (recorded["blanks_separate_docs"].get<bool>()) keep(builder.end_document(example));
      }
      keep(builder.end_document(example));
    }
  }
  return examples;
}

TEST(ElectraBuilder, ReplaysTheRecordedRuns) {
  auto vocabulary = Vocabulary::load(local_files(), kGolden + "vocab.txt");
  ASSERT_TRUE(vocabulary.has_value());
  size_t total = 0;
  const Json cases = load_json("cases.json");
  for (const Json& recorded : cases) {
    SCOPED_TRACE(recorded["name"].get<std::string>());
    TokenizerOptions options;
    options.do_lower_case = recorded["do_lower_case"].get<bool>();
    options.strip_accents = options.do_lower_case && recorded["strip_accents"].get<bool>();
    auto tokenizer = Tokenizer::create(*vocabulary, options);
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().to_string();
    const auto examples = replay_case(recorded, *tokenizer);
    ASSERT_EQ(examples.size(), recorded["examples"].size());
    for (size_t i = 0; i < examples.size(); ++i)
      expect_example(examples[i], recorded["examples"][i],
                     recorded["max_seq_length"].get<int64_t>());
    total += examples.size();
  }
  EXPECT_EQ(total, 139u);
}

TEST(ElectraBuilder, CountsWhatIsCutOff) {
  // No second segment, then a target of full length.
  ElectraDraws draws{[] { return 0.05; }, [](int64_t, int64_t last) { return last; }};
  ElectraExampleBuilder builder(8, kCls, kSep, draws);
  ElectraExample example;
  const std::vector<int32_t> line(20, 7);
  ASSERT_TRUE(builder.add_sentence(line, example));
  EXPECT_EQ(example.input_ids, (std::vector<int32_t>{2, 7, 7, 7, 7, 7, 7, 3}));
  EXPECT_EQ(example.lost_tokens, 14);
  EXPECT_FALSE(builder.end_document(example));  // nothing is pending
}

TEST(ElectraBuilder, SentencesWithoutTokensChangeNothing) {
  ElectraExampleBuilder builder(8, kCls, kSep, threefry_draws(Key::from_seed(1)));
  ElectraExample example;
  EXPECT_FALSE(builder.add_sentence({}, example));
  EXPECT_FALSE(builder.end_document(example));
}

TEST(ElectraBuilder, ThreefryDrawsAreAFunctionOfTheKey) {
  const Key key = Key::from_seed(9);
  const auto first = threefry_draws(key), second = threefry_draws(key);
  std::vector<int64_t> seen(4);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(first.uniform(), second.uniform());
    const int64_t value = first.integer_between(5, 8);
    EXPECT_EQ(value, second.integer_between(5, 8));
    ASSERT_GE(value, 5);
    ASSERT_LE(value, 8);
    ++seen[static_cast<size_t>(value - 5)];
  }
  for (const int64_t count : seen) EXPECT_GT(count, 150);  // both ends included
}

// Whatever the sentences: an example fits, is framed by [CLS] and [SEP], and no token is
// unaccounted for.
RC_GTEST_PROP(ElectraBuilder, ExamplesAreWellFormed, ()) {
  const auto length = *rc::gen::inRange<int64_t>(5, 40);
  const auto sizes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1, 60));
  ElectraExampleBuilder builder(length, kCls, kSep,
                                threefry_draws(Key::from_seed(*rc::gen::arbitrary<uint64_t>())));
  int64_t given = 0, kept = 0, lost = 0;
  ElectraExample example;
  const auto check = [&](bool made) {
    if (!made) return;
    const auto& ids = example.input_ids;
    RC_ASSERT(static_cast<int64_t>(ids.size()) <= length);
    RC_ASSERT(ids.front() == kCls && ids.back() == kSep);
    RC_ASSERT(ids[static_cast<size_t>(example.first_segment) - 1] == kSep);
    const auto specials = std::count_if(ids.begin(), ids.end(), [](int32_t id) { return id < 4; });
    RC_ASSERT(specials == (example.first_segment == static_cast<int64_t>(ids.size()) ? 2 : 3));
    kept += static_cast<int64_t>(ids.size()) - specials;
    lost += example.lost_tokens;
  };
  for (const int size : sizes) {
    given += std::max(size, 0);
    check(size < 0
              ? builder.end_document(example)
              : builder.add_sentence(std::vector<int32_t>(static_cast<size_t>(size), 7), example));
  }
  check(builder.end_document(example));
  RC_ASSERT(kept + lost == given);
}

}  // namespace
}  // namespace headwater
