// The program as a function: what goes where, exit codes, broken outputs; and that every verb's
// texts are in good order.
#include "cli/run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/verb.h"

namespace headwater {
namespace {

struct Ran {
  int code = 0;
  std::string out, err;
};

int call(std::vector<std::string> words) {
  words.insert(words.begin(), "headwater");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return run(static_cast<int>(argv.size()), argv.data());
}

Ran ran(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran result;
  result.code = call(words);
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

TEST(Run, HelpGoesToStandardOutput) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"help"},
                                             {"--help"},
                                             {"-h"},
                                             {"help", "config", "explain"},
                                             {"config", "explain", "--help"},
                                             {"config", "explain", "--max-steps", "-h"}}) {
    const Ran result = ran(words);
    EXPECT_EQ(result.code, 0);
    EXPECT_NE(result.out.find("Usage: headwater"), std::string::npos);
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(ran({"--version"}).out, "headwater " HW_VERSION "\n");
}

TEST(Run, NothingAskedIsAUsageErrorWithTheOverview) {
  const Ran result = ran({});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("config explain"), std::string::npos);
}

TEST(Run, AMistakeIsOneLineOnStandardError) {
  const Ran option = ran({"config", "explain", "--learning-rat", "1"});
  EXPECT_EQ(option.code, 2);
  EXPECT_EQ(option.out, "");
  EXPECT_EQ(option.err,
            "headwater config explain: unknown option --learning-rat; did you mean "
            "--learning-rate?\n");
  const Ran file = ran({"config", "explain", "--config", "/nowhere/run.json"});
  EXPECT_EQ(file.code, 4);
  EXPECT_EQ(std::count(file.err.begin(), file.err.end(), '\n'), 1);
  const Ran newline = ran({"config", "explain", "--preset", "a\nb"});
  EXPECT_EQ(std::count(newline.err.begin(), newline.err.end(), '\n'), 1);
  const Ran verb = ran({"konfig", "explain"});
  EXPECT_EQ(verb.code, 2);
  EXPECT_EQ(verb.err, "headwater: there is no verb 'konfig'; did you mean config explain?\n");
}

TEST(Run, ExitCodes) {
  EXPECT_EQ(exit_code(Code::kOk), 0);
  EXPECT_EQ(exit_code(Code::kInvalidArgument), 3);
  EXPECT_EQ(exit_code(Code::kDataLoss), 3);
  EXPECT_EQ(exit_code(Code::kAlreadyExists), 3);
  EXPECT_EQ(exit_code(Code::kNotFound), 4);
  EXPECT_EQ(exit_code(Code::kPermissionDenied), 5);
  EXPECT_EQ(exit_code(Code::kResourceExhausted), 5);
  EXPECT_EQ(exit_code(Code::kUnavailable), 75);
  EXPECT_EQ(exit_code(Code::kCancelled), 130);
  EXPECT_EQ(exit_code(Code::kInternal), 1);
}

TEST(RunDeathTest, AClosedOutputEndsQuietly) {
  const auto into_closed_pipe = [] {
    int ends[2];
    if (pipe(ends) != 0) std::exit(99);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    std::signal(SIGPIPE, SIG_IGN);  // as some parents leave it
    std::exit(call({"help"}));
  };
  EXPECT_EXIT(into_closed_pipe(), testing::KilledBySignal(SIGPIPE), "^$");
}

TEST(RunDeathTest, AFullOutputIsAnError) {
  const auto into_full_device = [] {
    dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
    std::exit(call({"help"}));
  };
  EXPECT_EXIT(into_full_device(), testing::ExitedWithCode(5),
              "headwater: cannot write standard output: No space left on device");
}

class EveryVerb : public testing::TestWithParam<size_t> {
 protected:
  const Verb& verb() const { return all_verbs()[GetParam()]; }
};

TEST_P(EveryVerb, HasTextsInGoodOrder) {
  EXPECT_FALSE(verb().summary.empty());
  EXPECT_FALSE(verb().summary.ends_with('.')) << verb().summary;
  EXPECT_TRUE(verb().description.ends_with('.')) << verb().description;
  EXPECT_FALSE(verb().examples.empty());
  for (const VerbExample& example : verb().examples) {
    EXPECT_NE(example.command.find("headwater " + verb().name), std::string::npos)
        << example.command;
  }
  const VerbCall call = verb().open();
  for (const Field& field : call.fields->all()) EXPECT_FALSE(field.help.empty()) << field.name;
  const std::string text = verb_help_text(verb(), 80);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST_P(EveryVerb, HasOneMeaningPerName) {
  const VerbCall call = verb().open();
  CommonOptions options;
  Fields common;
  options.describe(common);
  std::set<std::string> seen;
  for (const Fields* fields : std::initializer_list<const Fields*>{call.fields.get(), &common}) {
    for (const std::string& name : fields->names()) EXPECT_TRUE(seen.insert(name).second) << name;
    for (const Field& field : fields->all()) {
      if (!field.is_bool()) continue;
      EXPECT_TRUE(seen.insert(field.negation).second) << field.negation;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, EveryVerb, testing::Range<size_t>(0, all_verbs().size()),
                         [](const auto& verb) {
                           std::string name = all_verbs()[verb.param].name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace headwater
