#include "cli/run.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/verb.h"
#include "io/file.h"

namespace headwater {
namespace {

constexpr int kUsageError = 2;

int report(const Error& error, std::string_view verb, int code) {
  std::string line =
      fmt::format("headwater{}{}: {}", verb.empty() ? "" : " ", verb, error.to_string());
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

// A wrong argument is a usage error; a file named in one may still be missing or unreadable.
int usage_code(Code code) { return code == Code::kInvalidArgument ? kUsageError : exit_code(code); }

int print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int help(std::span<const std::string> words) {
  if (words.empty()) return print(overview_text(all_verbs(), help_width()));
  const auto match = find_verb(all_verbs(), words);
  if (match) return print(verb_help_text(*match->verb, help_width()));
  return report(match.error(), "help", kUsageError);
}

int run_verb(const Verb& verb, std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return print(verb_help_text(verb, help_width()));
  const VerbCall call = verb.open();
  auto parsed = parse_arguments(arguments, *call.fields, local_files());
  if (parsed) parsed = call.resolve();
  if (parsed) parsed = check_required(*call.fields);
  if (!parsed) return report(parsed.error(), verb.name, usage_code(parsed.error().code));
  const Result<int> code = call.run();
  return code ? *code : report(code.error(), verb.name, exit_code(code.error().code));
}

int dispatch(std::span<const std::string> words) {
  if (words.empty()) {
    std::fputs(overview_text(all_verbs(), help_width()).c_str(), stderr);
    return kUsageError;
  }
  if (words[0] == "--version" || words[0] == "-V" || words[0] == "version")
    return print("headwater " HW_VERSION "\n");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return help(words.subspan(1));
  const auto match = find_verb(all_verbs(), words);
  if (!match) return report(match.error(), "", kUsageError);
  return run_verb(*match->verb, words.subspan(match->words));
}

// What was printed must have arrived: a full disk behind > is an error like any other.
int flush_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const Error error = system_error(errno, "write", "standard output");
  return code != 0 ? code : report(error, "", exit_code(error.code));
}

}  // namespace

int exit_code(Code code) {
  switch (code) {
    case Code::kOk: return 0;
    case Code::kNotFound: return 4;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
    case Code::kResourceExhausted: return 5;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kAborted: return 75;
    case Code::kCancelled: return 128 + SIGINT;
    case Code::kUnknown:
    case Code::kInternal: return 1;
    default: return 3;
  }
}

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // a parent may have left it ignored
  std::signal(SIGXFSZ, SIG_IGN);  // a write past a size limit fails, as on a full disk
  try {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    return flush_output(dispatch(words));
  } catch (const std::bad_alloc&) {
    std::fputs("headwater: out of memory; use a smaller batch, model or buffer\n", stderr);
    return exit_code(Code::kResourceExhausted);
  } catch (const std::exception& e) {
    return report(Error{Code::kInternal,
                        fmt::format("unexpected failure: {}", e.what()),
                        "please report it with the command line",
                        {}},
                  "", exit_code(Code::kInternal));
  }
}

}  // namespace headwater
