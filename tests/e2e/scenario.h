// Text files that say what the program does: a command, then what it must answer.
//
//   # A comment.
//   needs cases                         skip the file when the folder of shared cases is not there
//   $ headwater tokenize --vocab-file vocab.txt korean.txt
//   exit 3                              expected exit code; 0 when the line is missing
//   out REGEX                           some line of standard output matches
//   err REGEX                           some line of standard error matches
//   no-out REGEX, no-err REGEX          no line matches
//
// A command is bash, and goes on in lines that begin with two blanks. The commands of a file run
// one after another in one fresh folder (its name has a blank in it) that holds links `examples`,
// `golden` and `cases`; `headwater` is the program under test. A command of ours that fails, and
// was not stopped by a signal, must end with a line of standard error that begins with "headwater".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headwater::e2e {

enum class Stream { kOut, kErr };

struct Expectation {
  Stream stream = Stream::kOut;
  bool present = true;
  std::string pattern;
  int line = 0;
};

struct Step {
  std::string command;
  int line = 0;
  int exit_code = 0;
  std::vector<Expectation> expectations;
};

struct Scenario {
  std::string name;  // of the file, without ".test"
  std::filesystem::path path;
  bool needs_cases = false;
  std::vector<Step> steps;
};

// Throws std::runtime_error with file and line when the file is not in the form above.
Scenario read_scenario(const std::filesystem::path& path);
std::vector<std::filesystem::path> scenario_files();
// Runs the steps; what differs becomes a GoogleTest failure with file and line.
void run_scenario(const Scenario& scenario);

}  // namespace headwater::e2e
