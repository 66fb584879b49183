// Runs Python scripts of tests/compat where Python and their packages are there: $HW_PYTHON, else
// python3.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace headwater {

// Exit status and output, standard error included, of a shell command.
inline std::pair<int, std::string> run_command(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "cannot start a shell"};
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), n);
  return {::pclose(pipe), output};
}

// For a path or a word inside single quotes.
inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

inline std::string python() {
  const char* chosen = std::getenv("HW_PYTHON");
  return quoted(chosen != nullptr ? chosen : "python3");
}

inline bool python_has(const std::string& modules) {
  return run_command(python() + " -c " + quoted("import " + modules)).first == 0;
}

}  // namespace headwater
