// TFRecord files of pre-training examples (three features of --seq ints): writing, reading raw, and
// reading with parsing, one JSON line. The counterpart of the peers' script; checksums are always
// checked.
//   records_bench [--input TEXT] [--examples N] [--seq N] [--reps N] [--threads N] [--tmp FILE]
// --input: a text whose words seed the ids, as there; without it the ids are drawn from 35,000.
// With several threads every thread has its own file, and figures are of all together.
#include <fmt/format.h>
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/threefry.h"
#include "io/buffered_sink.h"
#include "io/file.h"
#include "records/example.h"
#include "records/record_file.h"
#include "records/record_index.h"

namespace headwater {
namespace {

struct Arguments {
  std::string input, tmp = "records-bench.tmp";
  int64_t examples = 20000, seq = 128, reps = 7, threads = 1;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--input") a.input = value;
    else if (flag == "--tmp") a.tmp = value;
    else if (flag == "--examples") a.examples = std::atoll(value.c_str());
    else if (flag == "--seq") a.seq = std::atoll(value.c_str());
    else if (flag == "--reps") a.reps = std::atoll(value.c_str());
    else if (flag == "--threads") a.threads = std::atoll(value.c_str());
    else return fail(Code::kInvalidArgument, "unknown argument {}", flag);
  }
  if (a.examples < 1 || a.seq < 1 || a.reps < 1 || a.threads < 1)
    return fail(Code::kInvalidArgument, "positive numbers wanted");
  return a;
}

// Ids as the peers' script makes them: CRC-32 of each word of the text, modulo 35,000.
Result<std::vector<int32_t>> make_ids(const Arguments& a) {
  std::vector<int32_t> ids;
  if (!a.input.empty()) {
    HW_ASSIGN_OR_RETURN(const std::string text, read_file(local_files(), a.input));
    for (size_t start = 0; start < std::min<size_t>(text.size(), 12'000'000);) {
      const size_t end = std::min(text.find_first_of(" \n\t", start), text.size());
      if (end > start)
        ids.push_back(
            static_cast<int32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data() + start),
                                       static_cast<uInt>(end - start)) %
                                 35000));
      start = end + 1;
    }
  }
  RandomStream random(Key::from_seed(1));
  const auto needed = static_cast<size_t>(a.examples * a.seq);
  const size_t given = ids.size();
  for (size_t i = ids.size(); i < needed; ++i)
    ids.push_back(given > 0 ? ids[i % given] : static_cast<int32_t>(random.below(35000)));
  ids.resize(needed);
  return ids;
}

Result<> write_file(const Arguments& a, const std::vector<int32_t>& ids, const std::string& path) {
  HW_ASSIGN_OR_RETURN(auto file, local_files().open_write(path));
  BufferedSink sink(std::move(file));
  RecordWriter writer(sink);
  const auto seq = static_cast<size_t>(a.seq);
  const std::vector<int32_t> mask(seq, 1);
  std::vector<int32_t> segments(seq, 1);
  std::fill_n(segments.begin(), seq / 2, 0);
  std::string payload;
  for (size_t i = 0; i < ids.size(); i += seq) {
    const IntFeature features[] = {{"input_ids", std::span(ids).subspan(i, seq)},
                                   {"input_mask", mask},
                                   {"segment_ids", segments}};
    payload.clear();
    append_example(features, payload);
    HW_RETURN_IF_ERROR(writer.write(payload));
  }
  return sink.flush();  // no sync: the peers do none
}

Result<> read_raw(const Arguments& a, const std::string& path) {
  HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(local_files(), path));
  int64_t records = 0;
  while (true) {
    HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
    if (!payload) break;
    ++records;
  }
  HW_CHECK(records == a.examples);
  return {};
}

Result<ExampleParser> pretrain_parser(const Arguments& a) {
  return ExampleParser::create({{.key = "input_ids", .length = a.seq},
                                {.key = "input_mask", .length = a.seq},
                                {.key = "segment_ids", .length = a.seq}});
}

// Into int32 rows, as a batch takes them.
Result<> parse_rows(const ExampleParser& parser, std::string_view payload,
                    std::vector<ParsedFeature>& features, std::vector<int32_t>& row) {
  HW_RETURN_IF_ERROR(parser.parse(payload, features));
  for (size_t f = 0; f < features.size(); ++f)
    HW_RETURN_IF_ERROR(narrow_to_int32(parser.specs()[f].key, features[f].ints, row));
  return {};
}

Result<> read_parse(const Arguments& a, const std::string& path) {
  HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(local_files(), path));
  HW_ASSIGN_OR_RETURN(const ExampleParser parser, pretrain_parser(a));
  std::vector<ParsedFeature> features;
  std::vector<int32_t> row(static_cast<size_t>(a.seq));
  while (true) {
    HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
    if (!payload) return {};
    HW_RETURN_IF_ERROR(parse_rows(parser, *payload, features, row));
  }
}

Result<> read_random(const Arguments& a, const std::string& path) {
  HW_ASSIGN_OR_RETURN(RecordIndex index, index_records(local_files(), path));
  HW_ASSIGN_OR_RETURN(const auto reader, RandomRecordReader::open(local_files(), std::move(index)));
  HW_ASSIGN_OR_RETURN(const ExampleParser parser, pretrain_parser(a));
  RandomStream random(Key::from_seed(3));
  std::vector<ParsedFeature> features;
  std::vector<int32_t> row(static_cast<size_t>(a.seq));
  std::string payload;
  for (int64_t i = 0; i < a.examples; ++i) {
    const auto record = static_cast<int64_t>(random.below(static_cast<uint64_t>(reader.size())));
    HW_RETURN_IF_ERROR(reader.read(record, payload));
    HW_RETURN_IF_ERROR(parse_rows(parser, payload, features, row));
  }
  return {};
}

using Work = std::function<Result<>(const std::string& path)>;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Median seconds of all threads doing the work on their files: on the wall, and of processor time.
struct Times {
  double wall, cpu;
};
Result<Times> measure(const Arguments& a, const Work& work) {
  std::vector<double> seconds, cpu;
  for (int64_t rep = 0; rep <= a.reps; ++rep) {  // the first warms up
    std::vector<Result<>> results(static_cast<size_t>(a.threads));
    std::vector<std::thread> threads;
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    for (size_t t = 0; t < results.size(); ++t)
      threads.emplace_back([&, t] { results[t] = work(fmt::format("{}.{}", a.tmp, t)); });
    for (std::thread& thread : threads) thread.join();
    const auto end = std::chrono::steady_clock::now();
    for (const Result<>& result : results) HW_RETURN_IF_ERROR(result);
    if (rep == 0) continue;
    seconds.push_back(std::chrono::duration<double>(end - start).count());
    cpu.push_back(cpu_seconds() - cpu_start);
  }
  return Times{median(seconds), median(cpu)};
}

Result<> run_bench(const Arguments& a) {
  HW_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, make_ids(a));
  const std::vector<std::pair<std::string, Work>> steps = {
      {"write", [&](const std::string& path) { return write_file(a, ids, path); }},
      {"read_raw", [&](const std::string& path) { return read_raw(a, path); }},
      {"read_parse", [&](const std::string& path) { return read_parse(a, path); }},
      {"read_parse_random", [&](const std::string& path) { return read_random(a, path); }}};
  std::string results;
  for (const auto& [name, work] : steps) {
    HW_ASSIGN_OR_RETURN(const Times times, measure(a, work));
    const auto examples = static_cast<double>(a.examples * a.threads);
    results += fmt::format(
        R"({}"{}": {{"examples_per_s": {:.0f}, "median_s": {:.4f}, "examples_per_cpu_s": {:.0f}}})",
        results.empty() ? "" : ", ", name, examples / times.wall, times.wall, examples / times.cpu);
  }
  int64_t bytes = 0;
  for (int64_t t = 0; t < a.threads; ++t) {
    const std::string path = fmt::format("{}.{}", a.tmp, t);
    HW_ASSIGN_OR_RETURN(const FileInfo info, local_files().info(path));
    bytes += info.size;
    HW_RETURN_IF_ERROR(local_files().remove(path));
  }
  double load[3] = {};
  getloadavg(load, 3);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      R"({{"bench": "tfrecord", "lib": "headwater", "version": "{}", "examples": {}, "seq": {}, )"
      R"("threads": {}, "reps": {}, "file_mb": {:.2f}, "results": {{{}}}, "loadavg": {:.2f}, )"
      R"("peak_rss_mb": {:.1f}}})"
      "\n",
      HW_VERSION, a.examples, a.seq, a.threads, a.reps,
      static_cast<double>(bytes) / 1e6 / static_cast<double>(a.threads), results, load[0],
      static_cast<double>(usage.ru_maxrss) / 1024);
  return {};
}

}  // namespace
}  // namespace headwater

int main(int argc, char** argv) {
  const auto arguments = headwater::parse(argc, argv);
  const auto done = arguments ? headwater::run_bench(*arguments)
                              : headwater::Result<>(tl::unexpected(arguments.error()));
  if (done) return 0;
  fmt::print(stderr, "records_bench: {}\n", done.error().to_string());
  return 1;
}
