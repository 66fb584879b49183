// Throughput of the tokenizer, one JSON line: the counterpart of the peers' script. Lines are read
// once; only tokenisation is timed, as there.
// --vocab is a file or folder of WordPiece or of byte-level BPE.
//   tokenize_bench --vocab PATH --input FILE [--lower] [--hf] [--threads N] [--reps N] [--offsets]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/threads.h"
#include "io/file.h"
#include "tokens/any_tokenizer.h"

namespace headwater {
namespace {

struct Arguments {
  std::string vocab, input;
  TokenizerOptions options;
  int threads = 1, reps = 5;
  bool offsets = false;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--vocab") {
      a.vocab = value, ++i;
    } else if (flag == "--input") {
      a.input = value, ++i;
    } else if (flag == "--threads") {
      a.threads = std::atoi(value.c_str()), ++i;
    } else if (flag == "--reps") {
      a.reps = std::atoi(value.c_str()), ++i;
    } else if (flag == "--lower") {
      a.options.do_lower_case = true;
    } else if (flag == "--hf") {
      a.options.compatibility = "hf";
    } else if (flag == "--offsets") {
      a.offsets = true;
    } else {
      return fail(Code::kInvalidArgument, "unknown argument {}", flag);
    }
  }
  if (a.vocab.empty() || a.input.empty() || a.threads < 1 || a.reps < 1)
    return fail(Code::kInvalidArgument, "--vocab, --input and positive --threads, --reps wanted");
  return a;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Tokenises all lines once, batches of 4,096 as the peers' script, and returns the number of
// tokens.
int64_t run_once(const AnyTokenizer& tokenizer, const std::vector<std::string_view>& lines,
                 bool offsets) {
  std::atomic<int64_t> total = 0;
  parallel_for(static_cast<int64_t>(lines.size()), 4096, [&](int64_t begin, int64_t end) {
    int64_t tokens = 0;
    std::vector<int32_t> ids;
    for (int64_t i = begin; i < end; ++i) {
      if (offsets) {
        tokens += static_cast<int64_t>(tokenizer.tokenize(lines[static_cast<size_t>(i)]).size());
        continue;
      }
      ids.clear();
      tokenizer.append_ids(lines[static_cast<size_t>(i)], ids);
      tokens += static_cast<int64_t>(ids.size());
    }
    total += tokens;
  });
  return total;
}

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Result<> bench(const Arguments& a) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  HW_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(local_files(), a.vocab));
  HW_ASSIGN_OR_RETURN(const TokenizerOptions options, options_for(files, a.options));
  const auto t0 = Clock::now();
  HW_ASSIGN_OR_RETURN(const AnyTokenizer tokenizer, AnyTokenizer::create(files, options));
  const double build_seconds = seconds(Clock::now() - t0);
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(local_files(), a.input));
  const std::vector<std::string_view> lines = lines_of(text);
  set_num_threads(a.threads);
  int64_t tokens = run_once(tokenizer, lines, a.offsets);  // warm-up
  std::vector<double> walls, cpus;
  for (int i = 0; i < a.reps; ++i) {
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    tokens = run_once(tokenizer, lines, a.offsets);
    walls.push_back(seconds(Clock::now() - start));
    cpus.push_back(cpu_seconds() - cpu);
  }
  std::sort(walls.begin(), walls.end());
  std::sort(cpus.begin(), cpus.end());
  const double wall = walls[walls.size() / 2], cpu = cpus[cpus.size() / 2];
  const double megabytes = static_cast<double>(text.size()) * 1e-6;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"bench\": \"tokenize\", \"lib\": \"headwater\", \"lower\": {}, \"threads\": {}, "
      "\"offsets\": {}, \"mb\": {:.3f}, \"lines\": {}, \"tokens\": {}, \"reps\": {}, "
      "\"median_s\": {:.5f}, \"min_s\": {:.5f}, \"max_s\": {:.5f}, \"mb_per_s\": {:.2f}, "
      "\"mb_per_cpu_s\": {:.2f}, \"build_ms\": {:.1f}, \"peak_rss_mb\": {:.1f}}}\n",
      a.options.do_lower_case, a.threads, a.offsets, megabytes, lines.size(), tokens, a.reps, wall,
      walls.front(), walls.back(), megabytes / wall, megabytes / cpu, build_seconds * 1e3,
      static_cast<double>(usage.ru_maxrss) / 1024);
  return {};
}

}  // namespace
}  // namespace headwater

int main(int argc, char** argv) {
  const auto arguments = headwater::parse(argc, argv);
  const auto result =
      arguments ? headwater::bench(*arguments)
                : headwater::Result<>(tl::unexpected<headwater::Error>(arguments.error()));
  if (result) return 0;
  fmt::print(stderr, "tokenize_bench: {}\n", result.error().to_string());
  return 2;
}
