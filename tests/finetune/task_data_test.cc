// Files of tasks as people have them: what is read, what is refused with file and line, and that
// no damage of a file does harm.
#include "finetune/task_data.h"

#include <gtest/gtest.h>

#include "base/threefry.h"
#include "text/utf8.h"

namespace headwater {
namespace {

Task task_of(const char* name) {
  auto task = find_task(name);
  EXPECT_TRUE(task) << task.error().to_string();
  return *task;
}

Result<TaskData> read(const char* name, std::string_view content, const std::string& path = "a.tsv",
                      const ReadOptions& options = {}) {
  const Task task = task_of(name);
  HW_ASSIGN_OR_RETURN(TaskData data, parse_task_data(content, path, task, options));
  const std::vector<std::string> labels =
      task.labels.empty() ? collect_labels(task, data.examples) : task.labels;
  HW_RETURN_IF_ERROR(resolve_labels(task, labels, data));
  return data;
}

void expect_error(const Result<TaskData>& data, std::string_view part) {
  ASSERT_FALSE(data);
  const std::string text = data.error().to_string();
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(TaskData, KoteAndNsmcByName) {
  const auto kote = read("kote", "7\t좋네요\t0,5,12\n8\t라벨 없음\t\n9\t끝\t 3 , 4");
  ASSERT_TRUE(kote) << kote.error().to_string();
  ASSERT_EQ(kote->examples.size(), 3U);
  EXPECT_EQ(kote->examples[0].labels, (std::vector<int32_t>{0, 5, 12}));
  EXPECT_TRUE(kote->examples[1].labels.empty());
  EXPECT_EQ(kote->examples[2].labels, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(kote->examples[2].text, "끝");
  for (const char* header : {"id\tdocument\tlabel\n1\t", "text\tlabel\n"}) {
    const auto nsmc = read("nsmc", std::string(header) + "재미있다\t1\n");
    ASSERT_TRUE(nsmc) << nsmc.error().to_string();
    EXPECT_EQ(nsmc->examples[0].text, "재미있다");
    EXPECT_EQ(nsmc->examples[0].labels, std::vector<int32_t>{1});
  }
}

// Odd rows of a file like KOTE's.
TEST(TaskData, KoteRowsThatAreWrong) {
  expect_error(read("kote", "1\ta\t0\n2\t\"b\tc\"\t43\n"), "a.tsv:2: 4 columns");
  ReadOptions quoted;
  quoted.table.quotes = true;
  const auto data = read("kote", "1\ta\t0\n2\t\"b\tc\"\t43\n", "a.tsv", quoted);
  ASSERT_TRUE(data) << data.error().to_string();
  EXPECT_EQ(data->examples[1].text, "b\tc");
  expect_error(read("kote", "1\ta\t0\n2\tb\t44\n"), "a.tsv:2: there is no label '44'");
  expect_error(read("kote", "1\ta\t0\n2\tb\t44\n"), "indices are 0 to 43");
  expect_error(read("kote", "1\ta\t슬픔\n2\tb\t기쁨!\n"), "a.tsv:2");
  expect_error(read("kote", "1\t \t0\n"), "a.tsv:1: the text is empty");
  const auto repeated = read("kote", "1\ta\t7,7\n");
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->examples[0].labels, std::vector<int32_t>{7});
  ASSERT_EQ(repeated->notes.size(), 1U);
}

TEST(TaskData, CommaSeparatedWithQuotes) {
  const auto data =
      read("single-label", "text,label\r\n\"a \"\"b\"\", c\nd\",yes\r\nplain,no\r\n", "a.csv");
  ASSERT_TRUE(data) << data.error().to_string();
  EXPECT_EQ(data->examples[0].text, "a \"b\", c\nd");
  EXPECT_EQ(data->examples[1].line, 4);
  EXPECT_EQ(data->examples[1].labels, std::vector<int32_t>{0});  // "no" < "yes"
  expect_error(read("single-label", "text,label\na,x\n\"b,y\nc,x\n", "a.csv"),
               "a.csv:3: the quote that opens here never closes");
  expect_error(read("single-label", "text,label\n\"b\"c,y\n", "a.csv"), "a.csv:2: text behind");
}

TEST(TaskData, JsonLines) {
  const auto data = read("multi-label",
                         "{\"text\": \"a\", \"labels\": [\"x\", \"y\"]}\n\n"
                         "{\"labels\": [\"y\"], \"text\": \"b\"}\n",
                         "a.jsonl");
  ASSERT_TRUE(data) << data.error().to_string();
  EXPECT_EQ(data->examples[0].labels, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(data->examples[1].line, 3);
  expect_error(read("single-label", "{\"text\": \"a\", \"label\": 1}\n{\"label\": 0}\n", "a.jsonl"),
               "a.jsonl:2: the text is missing");
  expect_error(read("single-label", "{\"text\": \"a\"\n", "a.jsonl"), "a.jsonl:1");
}

TEST(TaskData, MissingColumnsAreNamedWithThoseThatAreThere) {
  expect_error(read("nsmc", "id\tcontent\tlabel\n1\ta\t0\n"), "it has: id, content, label");
  expect_error(read("single-label", "a\t0\n"), "--text-column");
}

TEST(TaskData, LabelsAreNamesOrIndices) {
  const auto numbers = read("single-label", "text\tlabel\na\t0\nb\t10\nc\t2\n");
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->examples[1].labels, std::vector<int32_t>{10});
  const auto names = read("nsmc", "text\tlabel\na\tpositive\nb\t0\n");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->examples[0].labels, std::vector<int32_t>{1});
  expect_error(read("nsmc", "text\tlabel\na\tpositve\n"), "did you mean positive?");
  const auto value = read("regression", "text\tlabel\na\t3.5\n");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->examples[0].value, 3.5F);
  expect_error(read("regression", "text\tlabel\na\tthree\n"), "a.tsv:2: 'three' is no number");
}

TEST(TaskData, WordsWithTags) {
  const auto lines = read("ner", "철수\tB-PER\n가\tO\n\n-DOCSTART- X\n서울\tB-LOC\n", "a.txt");
  ASSERT_TRUE(lines) << lines.error().to_string();
  ASSERT_EQ(lines->examples.size(), 2U);
  EXPECT_EQ(lines->examples[0].words, (std::vector<std::string>{"철수", "가"}));
  EXPECT_EQ(lines->examples[1].line, 5);
  const auto objects = read("ner", "{\"tokens\": [\"a\", \"b\"], \"tags\": [\"O\", \"B-X\"]}\n");
  ASSERT_TRUE(objects) << objects.error().to_string();
  EXPECT_EQ(objects->examples[0].labels.size(), 2U);
  expect_error(read("ner", "a\tO\nb\n"), "a.tsv:2: no tag");
  expect_error(read("ner", "{\"tokens\": [\"a\"], \"tags\": []}\n"), "1 words, but 0 tags");
}

constexpr std::string_view kQuestion =
    R"({"data": [{"paragraphs": [{"context": "é 서울은 수도다", "qas": [
    {"id": "q1", "question": "수도는?", "answers": [{"text": "서울", "answer_start": 2}]},
    {"id": "q2", "question": "누가?", "answers": [], "is_impossible": true}]}]}]})";

TEST(TaskData, QuestionsCountCharacters) {
  const auto data = read("korquad", kQuestion, "a.json");
  ASSERT_TRUE(data) << data.error().to_string();
  ASSERT_EQ(data->examples.size(), 2U);
  EXPECT_EQ(data->examples[0].answers[0].begin, 3U);
  EXPECT_TRUE(data->examples[1].answers.empty());
  std::string wrong(kQuestion);
  wrong.replace(wrong.find("_start\": 2"), 10, "_start\": 3");
  expect_error(read("korquad", wrong, "a.json"), "question 1 (q1)");
  expect_error(read("korquad", "{\"data\": 3}", "a.json"), "no list \"data\"");
}

TEST(TaskData, UnknownTaskIsAnsweredWithTheNearest) {
  const auto task = find_task("kotte");
  ASSERT_FALSE(task);
  EXPECT_NE(task.error().to_string().find("did you mean kote?"), std::string::npos);
  EXPECT_EQ(task_of("multi_label_classification").kind, TaskKind::kMultiLabel);
}

// Cut anywhere and changed at random: an error or other examples, never anything else.
TEST(TaskData, DamagedFilesDoNoHarm) {
  struct Sample {
    const char *task, *path;
    std::string content;
  };
  const std::vector<Sample> samples = {
      {"kote", "a.tsv", "1\t좋네요\t0,5,12\n2\t\"b\t43\n"},
      {"single-label", "a.csv", "text,label\r\n\"a \"\"b\"\", c\nd\",yes\r\nplain,no\r\n"},
      {"multi-label", "a.jsonl", "{\"text\": \"a\", \"labels\": [\"x\", \"y\"]}\n"},
      {"ner", "a.txt", "a\tB-PER\nb\tO\n\n{\"tokens\": [\"a\"], \"tags\": [\"O\"]}\n"},
      {"korquad", "a.json", std::string(kQuestion)}};
  for (const Sample& sample : samples) {
    RandomStream random(Key::from_seed(3).fold_in(sample.task));
    for (int round = 0; round < 3000; ++round) {
      std::string content = sample.content;
      for (uint64_t i = 0; i <= random.below(4); ++i) {
        const size_t at = random.below(content.size());
        constexpr std::string_view kBytes = "\"\t\n,{}[]:\\0a-9.";
        content[at] = kBytes[random.below(kBytes.size())];
      }
      if (random.below(3) == 0) content.resize(random.below(content.size() + 1));
      if (first_invalid_utf8(content)) content = replace_invalid_utf8(content);
      ReadOptions options;
      options.table.quotes = random.below(2) == 0;
      options.labels_optional = random.below(2) == 0;
      const auto data = read(sample.task, content, sample.path, options);
      EXPECT_TRUE(data || !data.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace headwater
