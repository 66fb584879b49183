#include "e2e/scenario.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace headwater::e2e {
namespace {
namespace fs = std::filesystem;

// Long enough for a loaded machine under a sanitizer; a hang is a failure, not a wait.
constexpr int kTimeoutSeconds = 300;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

fs::path tests_folder() { return HW_TESTS_DIR; }

// The folder of bug-report cases: $HW_SHARED/cases, or ../shared/cases beside the repository.
fs::path cases_folder() {
  const char* shared = std::getenv("HW_SHARED");
  const fs::path folder = shared ? fs::path(shared) : tests_folder() / "../../shared";
  return folder / "cases";
}

std::string quoted(const fs::path& path) {
  std::string out = "'";
  for (char c : path.string()) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A fresh folder with the links of every scenario; removed when the test ends.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& name) {
    std::string pattern = (fs::temp_directory_path() / ("headwater " + name + " XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder " + pattern);
    path_ = pattern;
    fs::create_directory(path_ / "work");
    const auto link = [&](const fs::path& target, const char* as) {
      if (fs::exists(target)) fs::create_symlink(fs::canonical(target), path_ / "work" / as);
    };
    link(tests_folder() / "../examples", "examples");
    link(tests_folder() / "golden", "golden");
    link(cases_folder(), "cases");
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Outcome {
  int exit_code = 0;
  std::vector<std::string> out, err;
};

Outcome run(const std::string& command, const WorkFolder& folder) {
  const fs::path script = folder.path() / "command.sh";
  // Tests run beside each other: threads that wait must not burn the other one's core.
  std::ofstream(script) << "cd " << quoted(folder.path() / "work") << "\n"
                        << "PATH=" << quoted(fs::path(HW_BINARY).parent_path()) << ":$PATH\n"
                        << "export OMP_WAIT_POLICY=passive\n"
                        << command << "\n";
  const fs::path out = folder.path() / "out", err = folder.path() / "err";
  const std::string line = "timeout " + std::to_string(kTimeoutSeconds) + " bash " +
                           quoted(script) + " >" + quoted(out) + " 2>" + quoted(err) +
                           " </dev/null";
  const int status = std::system(line.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = lines_of(read_file(out));
  outcome.err = lines_of(read_file(err));
  return outcome;
}

bool any_line_matches(const std::vector<std::string>& lines, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return std::regex_search(line, regex); });
}

std::string transcript(const Step& step, const Outcome& outcome) {
  std::string text = "$ " + step.command + "\n";
  for (const auto& line : outcome.out) text += "  out| " + line + "\n";
  for (const auto& line : outcome.err) text += "  err| " + line + "\n";
  return text + "  exit " + std::to_string(outcome.exit_code);
}

// Adds what one line of the file says to the last step.
void read_expectation(const std::string& text, int number, Step& step) {
  std::istringstream in(text);
  std::string word, rest;
  in >> word >> std::ws;
  std::getline(in, rest);
  if (word == "exit") {
    step.exit_code = std::stoi(rest);
    return;
  }
  const bool present = word.rfind("no-", 0) != 0;
  const std::string stream = present ? word : word.substr(3);
  if ((stream != "out" && stream != "err") || rest.empty())
    throw std::runtime_error("neither a command nor an expectation: " + text);
  step.expectations.push_back(
      {stream == "out" ? Stream::kOut : Stream::kErr, present, rest, number});
}

}  // namespace

std::vector<fs::path> scenario_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(tests_folder() / "e2e"))
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Scenario read_scenario(const fs::path& path) {
  Scenario scenario{path.stem().string(), path, false, {}};
  int number = 0;
  for (const std::string& line : lines_of(read_file(path))) {
    ++number;
    try {
      if (line.empty() || line[0] == '#') continue;
      if (line == "needs cases") scenario.needs_cases = true;
      else if (line.rfind("$ ", 0) == 0) scenario.steps.push_back({line.substr(2), number, 0, {}});
      else if (scenario.steps.empty()) throw std::runtime_error("no command before: " + line);
      else if (line.rfind("  ", 0) == 0) scenario.steps.back().command += "\n" + line.substr(2);
      else read_expectation(line, number, scenario.steps.back());
    } catch (const std::exception& e) {
      throw std::runtime_error(path.string() + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  return scenario;
}

void run_scenario(const Scenario& scenario) {
  const std::string file = scenario.path.string();
  if (scenario.needs_cases && !fs::exists(cases_folder()))
    GTEST_SKIP() << "the bug-report cases are not at " << cases_folder()
                 << " (set HW_SHARED to the folder that holds them)";
  const WorkFolder folder(scenario.name);
  for (const Step& step : scenario.steps) {
    const Outcome outcome = run(step.command, folder);
    const std::string what = transcript(step, outcome);
    if (outcome.exit_code != step.exit_code)
      ADD_FAILURE_AT(file.c_str(), step.line) << "expected exit " << step.exit_code << "\n" << what;
    for (const Expectation& e : step.expectations) {
      const auto& lines = e.stream == Stream::kOut ? outcome.out : outcome.err;
      if (any_line_matches(lines, e.pattern) != e.present)
        ADD_FAILURE_AT(file.c_str(), e.line)
            << (e.present ? "no line matches: " : "a line matches: ") << e.pattern << "\n"
            << what;
    }
    const bool ours = step.command.rfind("headwater", 0) == 0;
    if (ours && outcome.exit_code != 0 && outcome.exit_code < 128 &&
        (outcome.err.empty() || outcome.err.back().rfind("headwater", 0) != 0))
      ADD_FAILURE_AT(file.c_str(), step.line)
          << "a failure must end with a line of ours on standard error\n"
          << what;
    if (any_line_matches(outcome.err, "Sanitizer|runtime error:"))
      ADD_FAILURE_AT(file.c_str(), step.line) << what;
  }
}

}  // namespace headwater::e2e
