// The labelled sample in examples/: what its README says of it.
#include <gtest/gtest.h>

#include <map>

#include "finetune/task_data.h"
#include "text/excluded_texts.h"

namespace headwater {
namespace {

const std::string kSample = HW_TESTS_DIR "/../examples/korean-feelings/";

std::vector<TaskExample> examples_of(const std::string& split) {
  auto data =
      read_task_data(local_files(), kSample + split + ".tsv", *find_task("single-label"), {});
  EXPECT_TRUE(data.has_value()) << data.error().to_string();
  return data ? data->examples : std::vector<TaskExample>();
}

TEST(LabelledSample, EveryFeelingIsAsFrequentAsTheOthers) {
  for (const auto& [split, rows] :
       {std::pair("train", 28), std::pair("dev", 8), std::pair("test", 12)}) {
    std::map<std::string, int> counts;
    for (const TaskExample& example : examples_of(split)) ++counts[example.label_texts.at(0)];
    EXPECT_EQ(counts, (std::map<std::string, int>{
                          {"슬픔", rows}, {"불안", rows}, {"분노", rows}, {"기쁨", rows}}));
  }
}

TEST(LabelledSample, NoLineIsLikeAnotherOne) {
  ExcludedTexts seen;
  ExcludedTexts::Scratch scratch;
  for (const char* corpus : {"korean-colloquial.txt", "korean-written.txt"}) {
    const std::string text = *read_file(local_files(), kSample + "../" + corpus);
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = std::min(text.find('\n', begin), text.size());
      seen.add(text.substr(begin, end - begin));
    }
  }
  for (const char* split : {"train", "dev", "test"}) {
    for (const TaskExample& example : examples_of(split)) {
      EXPECT_EQ(seen.match(example.text, scratch), ExcludedTexts::Match::kNone) << example.text;
      seen.add(example.text);
    }
  }
}

}  // namespace
}  // namespace headwater
