// Words to values: every spelling, precedence of files and flags, and what each mistake says.
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <optional>

#include "cli/help.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

struct Sample {
  std::string records;
  int64_t max_steps = 1000000;
  double learning_rate = 5e-4;
  bool resume = false;
  bool do_lower_case = true;
  std::optional<bool> strip_accents;
  std::optional<int64_t> embedding_size;
  std::string format = "ids";
  std::string overrides = "{}";
  std::vector<std::string> special = {"[PAD]"};
  std::vector<std::string> files;

  void describe(Fields& f) {
    f.group("Data");
    f("records", records, "TFRecord shards").value_name("GLOB").required();
    f("do_lower_case", do_lower_case, "fold case").negation("no_lower_case");
    f("strip_accents", strip_accents, "delete accents");
    f("special", special, "special tokens");
    f("format", format, "what to print").one_of({"ids", "tokens", "jsonl"});
    f.group("Training");
    f("num_train_steps", max_steps, "steps in all").positive().alias("max_steps");
    f("learning_rate", learning_rate, "peak learning rate").positive().alias("lr");
    f("resume", resume, "continue the run in the output directory");
    f("embedding_size", embedding_size, "width of the tables").positive();
    f("overrides", overrides, "any key of the model's config").json();
    f("files", files, "inputs; - is standard input").value_name("FILE").positional();
  }
};

struct Parsed {
  Sample options;
  Fields fields;
  Result<> result;
};

std::unique_ptr<Parsed> parse(std::vector<std::string> arguments, FileSystem* files = nullptr) {
  static MemoryFileSystem none;
  auto parsed = std::make_unique<Parsed>();
  parsed->options.describe(parsed->fields);
  parsed->result = parse_arguments(arguments, parsed->fields, files ? *files : none);
  if (parsed->result) parsed->result = check_required(parsed->fields);
  return parsed;
}

std::string error_of(std::vector<std::string> arguments) {
  const auto parsed = parse(std::move(arguments));
  return parsed->result ? "no error" : parsed->result.error().to_string();
}

TEST(CommandLine, EverySpellingOfAValue) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"--num-train-steps", "30"},
                                                                 {"--num_train_steps=30"},
                                                                 {"--max-steps", "30"},
                                                                 {"--max_steps", "3e1"}}) {
    std::vector<std::string> arguments = {"--records", "r*"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const auto parsed = parse(arguments);
    ASSERT_TRUE(parsed->result) << parsed->result.error().to_string();
    EXPECT_EQ(parsed->options.max_steps, 30);
    EXPECT_EQ(parsed->fields.find("max_steps")->origin, "--num-train-steps");
    EXPECT_EQ(parsed->fields.find("lr")->origin, "default");
  }
}

TEST(CommandLine, Booleans) {
  const auto lower = [](std::vector<std::string> words) {
    words.insert(words.begin(), "--records=r");
    const auto parsed = parse(words);
    EXPECT_TRUE(parsed->result) << parsed->result.error().to_string();
    return parsed->options.do_lower_case;
  };
  EXPECT_TRUE(lower({}));
  EXPECT_TRUE(lower({"--do-lower-case"}));
  EXPECT_FALSE(lower({"--no-lower-case"}));
  EXPECT_FALSE(lower({"--no_lower_case"}));
  EXPECT_FALSE(lower({"--do-lower-case", "false"}));
  EXPECT_FALSE(lower({"--do_lower_case=False"}));
  EXPECT_TRUE(lower({"--no-lower-case", "--do-lower-case", "True"}));
  EXPECT_EQ(parse({"--records=r", "--no-strip-accents"})->options.strip_accents, false);
  EXPECT_EQ(parse({"--records=r", "--strip-accents"})->options.strip_accents, true);
  EXPECT_EQ(parse({"--records=r"})->options.strip_accents, std::nullopt);
  EXPECT_EQ(error_of({"--records=r", "--no-resume=1"}), "--no-resume takes no value");
}

TEST(CommandLine, PositionalsListsAndTheEndOfOptions) {
  const auto parsed = parse(
      {"a.txt", "--records", "r", "--special", "x", "--special=y", "-", "--", "--resume", "b c"});
  ASSERT_TRUE(parsed->result);
  EXPECT_EQ(parsed->options.files, (std::vector<std::string>{"a.txt", "-", "--resume", "b c"}));
  EXPECT_EQ(parsed->options.special, (std::vector<std::string>{"x", "y"}));
  EXPECT_FALSE(parsed->options.resume);
  // A flag that wants no value does not eat the word behind it.
  const auto after_flag = parse({"--records=r", "--resume", "a.txt"});
  EXPECT_TRUE(after_flag->options.resume);
  EXPECT_EQ(after_flag->options.files, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(parse({"--records=r", "--learning-rate", "-1"})->result.error().message,
            "--learning-rate must be over 0, got -1");
}

TEST(CommandLine, MistakesNameTheNearest) {
  EXPECT_EQ(error_of({"--records=r", "--learning-rat", "1"}),
            "unknown option --learning-rat; did you mean --learning-rate?");
  EXPECT_EQ(error_of({"--records=r", "--no-lower-cas"}),
            "unknown option --no-lower-cas; did you mean --no-lower-case?");
  EXPECT_EQ(error_of({"--records=r", "--confg", "f"}),
            "unknown option --confg; did you mean --config?");
  EXPECT_EQ(error_of({"--records=r", "--zzzzzzzz"}), "unknown option --zzzzzzzz");
  EXPECT_EQ(error_of({"--records=r", "-x"}), "unknown option -x; options are written --name");
  EXPECT_EQ(error_of({}), "--records is missing");
  EXPECT_EQ(error_of({"--records"}), "--records needs a value");
  EXPECT_EQ(error_of({"--records", "--resume"}), "--records needs a value");
  EXPECT_EQ(error_of({"--records=r", "--lr", "fast"}),
            "--learning-rate wants a number, got 'fast'");
  EXPECT_EQ(error_of({"--records=r", "--max-steps=1.5"}),
            "--num-train-steps wants a whole number, got '1.5'");
  EXPECT_EQ(error_of({"--records=r", "--format", "xml"}),
            "--format must be one of ids, tokens, jsonl, got 'xml'");
  EXPECT_EQ(error_of({"--records=r", "--resume=maybe"}),
            "--resume wants true or false, got 'maybe'");
  EXPECT_EQ(error_of({"--records=r", "--overrides", "{"}).substr(0, 28),
            "--overrides: not valid JSON ");
}

TEST(CommandLine, FilesLieBelowFlags) {
  MemoryFileSystem files;
  ASSERT_TRUE(write_file_atomic(files, "run.json",
                                R"({"records": "from-file", "max_steps": 7, "resume": true,
                                    "special": ["[A]", "[B]"], "overrides": {"x": [1, 2]},
                                    "embedding_size": null, "strip_accents": false})"));
  const auto parsed =
      parse({"--num-train-steps", "9", "--config", "run.json", "--special", "[C]"}, &files);
  ASSERT_TRUE(parsed->result) << parsed->result.error().to_string();
  EXPECT_EQ(parsed->options.records, "from-file");
  EXPECT_EQ(parsed->options.max_steps, 9);
  EXPECT_TRUE(parsed->options.resume);
  EXPECT_EQ(parsed->options.special, std::vector<std::string>{"[C]"});
  EXPECT_EQ(parsed->options.overrides, R"({"x":[1,2]})");
  EXPECT_EQ(parsed->options.strip_accents, false);
  EXPECT_EQ(parsed->fields.find("records")->origin, "--config run.json");
  EXPECT_EQ(parsed->fields.find("max_steps")->origin, "--num-train-steps");
}

TEST(CommandLine, MistakesInFiles) {
  MemoryFileSystem files;
  const auto error = [&](std::string_view text) {
    EXPECT_TRUE(write_file_atomic(files, "run.json", text));
    const auto parsed = parse({"--config", "run.json"}, &files);
    return parsed->result ? "no error" : parsed->result.error().to_string();
  };
  EXPECT_EQ(error(R"({"recods": "x"})"),
            "--config run.json: unknown key \"recods\"; did you mean \"records\"?");
  EXPECT_EQ(error(R"({"resume": 1})"), "--config run.json: \"resume\" has the wrong type: 1");
  EXPECT_EQ(error(R"({"max_steps": 0})"), "--config run.json: \"max_steps\" must be over 0, got 0");
  EXPECT_EQ(error("{\n  \"max_steps\": ,\n}"),
            "--config run.json: not valid JSON at line 2, column 16");
  EXPECT_EQ(error("[1]"), "--config run.json is not a JSON object: {\"name\": value, ...}");
  const auto missing = parse({"--config", "nowhere.json"}, &files);
  ASSERT_FALSE(missing->result);
  EXPECT_EQ(missing->result.error().code, Code::kNotFound);
}

std::vector<Verb> sample_verbs() {
  std::vector<Verb> verbs;
  for (const char* name : {"tokenize", "vocab train", "records build", "records stat"}) {
    verbs.push_back(make_verb<Sample>(
        {.name = name, .summary = "does it", .description = "Does it.", .examples = {}},
        [](Sample&) -> Result<int> { return 0; }));
  }
  return verbs;
}

TEST(CommandLine, FindsVerbsOfOneAndTwoWords) {
  const auto verbs = sample_verbs();
  const auto find = [&](std::vector<std::string> words) -> std::string {
    const auto match = find_verb(verbs, words);
    return match ? match->verb->name : match.error().to_string();
  };
  EXPECT_EQ(find({"tokenize", "a.txt"}), "tokenize");
  EXPECT_EQ(find({"records", "build", "--x"}), "records build");
  EXPECT_EQ(find({"records"}),
            "there is no verb 'records'; did you mean records build, records stat?");
  EXPECT_EQ(find({"records", "--help"}),
            "there is no verb 'records'; did you mean records build, records stat?");
  EXPECT_EQ(find({"record"}),
            "there is no verb 'record'; did you mean records build, records stat?");
  EXPECT_EQ(find({"records", "bild"}),
            "there is no verb 'records bild'; did you mean records build?");
  EXPECT_EQ(find({"tokenise"}), "there is no verb 'tokenise'; did you mean tokenize?");
  EXPECT_EQ(find({"qqqq"}), "there is no verb 'qqqq'; see headwater help");
}

TEST(CommandLine, AsksForHelp) {
  EXPECT_TRUE(asks_for_help(std::vector<std::string>{"--x", "--help"}));
  EXPECT_TRUE(asks_for_help(std::vector<std::string>{"-h"}));
  EXPECT_FALSE(asks_for_help(std::vector<std::string>{"--", "--help"}));
}

TEST(Help, LinesStayWithinTheWidth) {
  const auto verbs = sample_verbs();
  for (const int64_t width : {60, 80, 100}) {
    const std::string text = verb_help_text(verbs[2], width);
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, static_cast<size_t>(width)) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

}  // namespace
}  // namespace headwater
