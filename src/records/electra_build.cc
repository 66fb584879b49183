#include "records/electra_build.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/checked.h"
#include "base/digest.h"
#include "base/progress.h"
#include "base/threads.h"
#include "records/build_report.h"
#include "text/utf8.h"

namespace headwater {
namespace {

constexpr int64_t kLanes = 8, kBlocksPerRound = 64;  // of TextBlock::kBytes: 16 MB of text
constexpr int64_t kShardBytes = int64_t{64} << 20;   // of text, when the number is not given
constexpr int64_t kFewestShards = 4, kMostShards = 1000;

// Fisher-Yates on a counter-based stream.
template <class T>
void shuffle(std::vector<T>& items, Key key) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[key.below(i, i)]);
}

class ElectraBuild {
 public:
  ElectraBuild(FileSystem& fs, const ElectraBuildOptions& options) : fs_(fs), options_(options) {}

  Result<ElectraBuildSummary> run(const std::function<bool()>& stop) {
    HW_RETURN_IF_ERROR(prepare());
    HW_ASSIGN_OR_RETURN(ShardSet shards, ShardSet::create(fs_, options_.output_dir, shard_count(),
                                                          options_.overwrite));
    HW_RETURN_IF_ERROR(build(shards, stop));
    for (const ExampleLane& lane : lanes_) {
      summary_.counts.add(lane.counts());
      summary_.unknown.merge(lane.unknown());
      if (summary_.first_replaced.empty()) summary_.first_replaced = lane.first_replaced();
    }
    if (summary_.counts.examples == 0)
      return fail_hint(Code::kInvalidArgument, "is this the right folder?",
                       "{}: no examples: {} files with {} lines hold no text", options_.corpus_dir,
                       summary_.counts.files, summary_.counts.lines);
    HW_RETURN_IF_ERROR(shards.close());
    summary_.shards = shards.shards();
    add_build_warnings(options_, *tokenizer_, summary_);
    HW_RETURN_IF_ERROR(shards.commit(manifest()));
    return std::move(summary_);
  }

 private:
  Result<> prepare();
  Result<> build(ShardSet& shards, const std::function<bool()>& stop);
  int64_t shard_count() const;
  Json manifest() const;
  std::string relative_name(const std::string& path) const;

  FileSystem& fs_;
  const ElectraBuildOptions& options_;
  std::vector<CorpusFile> files_;
  std::optional<Tokenizer> tokenizer_;
  std::vector<bool> continues_word_;  // by id: "##..."
  LaneOptions lane_options_;
  std::vector<ExampleLane> lanes_;
  ElectraBuildSummary summary_;
};

Result<> ElectraBuild::prepare() {
  HW_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::load(fs_, options_.vocab_file));
  HW_ASSIGN_OR_RETURN(lane_options_.specials, vocabulary.special_ids());
  for (const std::string& token : vocabulary.tokens())
    continues_word_.push_back(token.starts_with("##"));
  TokenizerOptions tokens = options_.tokenizer;
  if (options_.lower_case_by_vocabulary)
    tokens.do_lower_case = vocabulary_wants_lower_case(vocabulary);
  tokens.strip_accents = tokens.do_lower_case && tokens.strip_accents.value_or(true);
  if (options_.lower_case_by_vocabulary)
    summary_.notes.push_back(
        tokens.do_lower_case
            ? "text is lower-cased, as the vocabulary holds no upper-case pieces (--no-lower-case "
              "turns it off)"
            : "text keeps its case, as the vocabulary holds upper-case or Hangul pieces "
              "(--do-lower-case lower-cases)");
  HW_ASSIGN_OR_RETURN(tokenizer_, Tokenizer::create(std::move(vocabulary), std::move(tokens)));

  HW_ASSIGN_OR_RETURN(files_, list_corpus(fs_, options_.corpus_dir));
  const Key key = Key::from_seed(static_cast<uint64_t>(options_.seed)).fold_in("records build");
  lane_options_.corpus = options_.corpus;
  lane_options_.max_seq_length = options_.max_seq_length;
  lane_options_.blanks_separate_docs = options_.blanks_separate_docs;
  lane_options_.split_long_lines = options_.split_long_lines;
  lane_options_.key = key.fold_in("examples");

  std::vector<LaneFile> order;
  for (const CorpusFile& file : files_) order.push_back({static_cast<int64_t>(order.size()), file});
  shuffle(order, key.fold_in("files"));
  const auto lanes = std::min<size_t>(kLanes, order.size());
  for (size_t lane = 0; lane < lanes; ++lane) {
    std::vector<LaneFile> share;
    for (size_t i = lane; i < order.size(); i += lanes) share.push_back(order[i]);
    lanes_.emplace_back(fs_, lane_options_, std::move(share));
  }
  return {};
}

int64_t ElectraBuild::shard_count() const {
  if (options_.num_out_files) return *options_.num_out_files;
  int64_t bytes = 0;
  for (const CorpusFile& file : files_) bytes += file.size;
  return std::clamp(ceil_div(bytes, kShardBytes), kFewestShards, kMostShards);
}

Result<> ElectraBuild::build(ShardSet& shards, const std::function<bool()>& stop) {
  int64_t total = 0;
  for (const CorpusFile& file : files_) total += file.size;
  Progress progress("records build", total, "B");
  std::vector<ExampleLane*> open;
  for (ExampleLane& lane : lanes_) open.push_back(&lane);
  std::vector<Result<>> errors(open.size());
  std::vector<TextBlock*> blocks;
  while (true) {
    std::erase_if(open, [](const ExampleLane* lane) { return lane->done(); });
    if (open.empty()) break;
    if (stop && stop()) return fail(Code::kCancelled, "interrupted; no shard was written");
    const auto lanes = static_cast<int64_t>(open.size());
    parallel_for(lanes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        errors[static_cast<size_t>(i)] =
            open[static_cast<size_t>(i)]->read(kBlocksPerRound / lanes);
    });
    for (Result<>& error : errors) HW_RETURN_IF_ERROR(std::move(error));
    blocks.clear();
    for (ExampleLane* lane : open)
      for (TextBlock& block : lane->blocks()) blocks.push_back(&block);
    parallel_for(static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        blocks[static_cast<size_t>(i)]->tokenize(*tokenizer_, lane_options_, continues_word_);
    });
    parallel_for(lanes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) open[static_cast<size_t>(i)]->make_examples();
    });
    for (const ExampleLane* lane : open)
      HW_RETURN_IF_ERROR(lane->visit_payloads([&](std::string_view p) { return shards.write(p); }));
    const int64_t done = std::accumulate(
        lanes_.begin(), lanes_.end(), int64_t{0},
        [](int64_t sum, const ExampleLane& lane) { return sum + lane.disk_bytes_done(); });
    progress.update(done, fmt::format("{} examples", shards.records()));
  }
  return {};
}

// A path inside the corpus folder, so that a moved corpus keeps its digest.
std::string ElectraBuild::relative_name(const std::string& path) const {
  std::string_view name = path;
  if (!name.starts_with(options_.corpus_dir) || name.size() == options_.corpus_dir.size())
    return base_name(path);
  name.remove_prefix(options_.corpus_dir.size());
  while (name.starts_with('/')) name.remove_prefix(1);
  return std::string(name);
}

Json ElectraBuild::manifest() const {
  std::vector<std::string> digests(files_.size());
  for (const ExampleLane& lane : lanes_)
    for (const auto& [number, digest] : lane.digests())
      digests[static_cast<size_t>(number)] = digest;
  std::vector<BuildInput> inputs;
  for (size_t i = 0; i < files_.size(); ++i)
    inputs.push_back({relative_name(files_[i].path), files_[i].size, digests[i]});
  return build_manifest(options_, *tokenizer_, inputs, summary_);
}

}  // namespace

void ElectraBuildOptions::describe(Fields& f) {
  f.group("Input and output");
  f("corpus_dir", corpus_dir,
    "folder (with subfolders) or file of UTF-8 text, plain or .gz, .zst, .xz; .jsonl and .tsv too")
      .required()
      .value_name("DIR");
  f("vocab_file", vocab_file, "WordPiece vocabulary, one token a line")
      .required()
      .value_name("FILE");
  f("output_dir", output_dir, "where the shards go; a new or an empty folder")
      .required()
      .value_name("DIR");
  f("overwrite", overwrite, "replace the shards of an earlier build in the output folder");
  f("num_out_files", num_out_files,
    "number of shards; auto: one per 64 MB of corpus, 4 to 1000 (google: 1000)")
      .range(1, 100000);
  f.group("Examples");
  f("max_seq_length", max_seq_length, "tokens of an example, [CLS] and [SEP] included")
      .range(5, 65536);
  f("blanks_separate_docs", blanks_separate_docs,
    "a blank line ends a document; false really means false here");
  f("split_long_lines", split_long_lines,
    "split lines longer than an example into sentences instead of cutting them off");
  f("seed", seed, "of all random decisions").non_negative();
  f.group("Text");
  tokenizer.describe(f);
  corpus.describe(f);
  f.group("Machine");
  f("num_processes", num_processes, "threads; auto: one per core. The result is the same")
      .range(1, 4096)
      .alias("threads");
}

Result<> ElectraBuildOptions::resolve(Fields& f) {
  lower_case_by_vocabulary = f.find("do_lower_case")->origin == "default";
  return {};
}

bool vocabulary_wants_lower_case(const Vocabulary& vocabulary) {
  for (const std::string& token : vocabulary.tokens()) {
    if (token.starts_with('[') && token.ends_with(']')) continue;  // specials are upper-case always
    for (size_t at = 0; at < token.size();) {
      const char32_t c = decode_utf8(token, at);
      if ((c >= 'A' && c <= 'Z') || (c >= 0xAC00 && c <= 0xD7A3)) return false;
    }
  }
  return true;
}

Result<ElectraBuildSummary> build_electra_records(FileSystem& fs,
                                                  const ElectraBuildOptions& options,
                                                  const std::function<bool()>& stop) {
  return ElectraBuild(fs, options).run(stop);
}

}  // namespace headwater
