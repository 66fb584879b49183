#include "records/records_build.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/checked.h"
#include "base/progress.h"
#include "base/threads.h"
#include "records/build_report.h"
#include "records/build_tokenizer.h"

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

Result<> write(const BuildLane& lane, ShardSet& shards) {
  return lane.output().visit([&](std::string_view payload) { return shards.write(payload); });
}

LaneRules lane_rules(const RecordsBuildOptions& options, RecordsTask task) {
  LaneRules rules;
  rules.corpus = options.corpus;
  if (task == RecordsTask::kRaw) rules.corpus.label = options.raw.label;
  rules.max_seq_length = options.max_seq_length;
  const bool blanks = options.blanks_separate_docs;
  rules.plain_end = blanks ? DocumentEnd::kBlankLine : DocumentEnd::kFile;
  rules.record_end = DocumentEnd::kRecord;
  if (task == RecordsTask::kElectra) rules.record_end = rules.plain_end;
  if (task == RecordsTask::kBert && !blanks) rules.record_end = DocumentEnd::kFile;
  if (task == RecordsTask::kRaw) rules.plain_end = DocumentEnd::kLine;
  if (task == RecordsTask::kGpt || task == RecordsTask::kRaw) rules.unit = TextUnit::kDocument;
  return rules;
}

class RecordsBuild {
 public:
  RecordsBuild(FileSystem& fs, const RecordsBuildOptions& options, RecordsTask task)
      : fs_(fs), options_(options), task_(task) {
    summary_.task = task;
  }

  Result<RecordsBuildSummary> run(const std::function<bool()>& stop, const Fields* origins) {
    HW_RETURN_IF_ERROR(prepare(origins));
    HW_ASSIGN_OR_RETURN(ShardSet shards, ShardSet::create(fs_, options_.output_dir, shard_count(),
                                                          options_.overwrite));
    HW_RETURN_IF_ERROR(build(shards, stop));
    HW_RETURN_IF_ERROR(finish_lanes(shards));
    if (summary_.counts.examples == 0) return no_examples();
    HW_RETURN_IF_ERROR(shards.close());
    summary_.shards = shards.shards();
    add_build_warnings(options_, tokenizer(), summary_);
    HW_RETURN_IF_ERROR(shards.commit(manifest()));
    return std::move(summary_);
  }

 private:
  Result<> prepare(const Fields* origins);
  Result<> read_excluded();
  Result<ExampleMaker> make_maker(Key key) const;
  Result<> build(ShardSet& shards, const std::function<bool()>& stop);
  Result<> run_round(std::span<BuildLane* const> open, ShardSet& shards);
  Result<> finish_lanes(ShardSet& shards);
  int64_t corpus_bytes() const;
  int64_t shard_count() const;
  tl::unexpected<Error> no_examples() const;
  Json manifest() const;
  std::string relative_name(const std::string& path) const;
  const AnyTokenizer& tokenizer() const { return block_tokenizer_->tokenizer; }

  FileSystem& fs_;
  const RecordsBuildOptions& options_;
  RecordsTask task_;
  std::vector<CorpusFile> files_;
  std::optional<BlockTokenizer> block_tokenizer_;
  Exclusion exclusion_;
  LaneRules lane_rules_;
  std::vector<BuildLane> lanes_;
  DocumentPool pool_;
  RecordsBuildSummary summary_;
};

Result<> RecordsBuild::prepare(const Fields* origins) {
  HW_ASSIGN_OR_RETURN(AnyTokenizer opened,
                      open_build_tokenizer(fs_, options_, task_, origins, summary_.notes));
  const bool splits =
      options_.split_long_lines && task_ != RecordsTask::kGpt && task_ != RecordsTask::kRaw;
  HW_ASSIGN_OR_RETURN(block_tokenizer_,
                      BlockTokenizer::create(std::move(opened), options_.max_seq_length, splits));
  HW_ASSIGN_OR_RETURN(files_, list_corpus(fs_, options_.corpus_dir));
  const Key key = Key::from_seed(static_cast<uint64_t>(options_.seed)).fold_in("records build");
  lane_rules_ = lane_rules(options_, task_);
  HW_RETURN_IF_ERROR(read_excluded());
  HW_ASSIGN_OR_RETURN(const ExampleMaker maker, make_maker(key.fold_in("examples")));

  std::vector<LaneFile> order;
  for (const CorpusFile& file : files_) order.push_back({static_cast<int64_t>(order.size()), file});
  shuffle(order, key.fold_in("files"));
  const auto lanes = std::min<size_t>(kLanes, order.size());
  for (size_t lane = 0; lane < lanes; ++lane) {
    std::vector<LaneFile> share;
    for (size_t i = lane; i < order.size(); i += lanes) share.push_back(order[i]);
    lanes_.emplace_back(fs_, lane_rules_, maker, std::move(share));
  }
  return {};
}

Result<> RecordsBuild::read_excluded() {
  if (options_.exclude.empty()) return {};
  HW_ASSIGN_OR_RETURN(exclusion_, read_exclusion(fs_, options_.exclude, options_.corpus));
  lane_rules_.excluded = &exclusion_.texts;
  summary_.excluded_texts = exclusion_.texts.size();
  summary_.exclude_files = exclusion_.files;
  return {};
}

Result<ExampleMaker> RecordsBuild::make_maker(Key key) const {
  switch (task_) {
    case RecordsTask::kElectra: break;
    case RecordsTask::kGpt: {
      HW_ASSIGN_OR_RETURN(const int32_t end_of_text, options_.gpt.end_of_text_id(tokenizer()));
      return GptExamples(options_.gpt, options_.max_seq_length, end_of_text);
    }
    case RecordsTask::kBert: {
      HW_ASSIGN_OR_RETURN(
          auto rules, BertRules::create(options_.bert, options_.max_seq_length, tokenizer(), key));
      return BertExamples(std::move(rules));
    }
    case RecordsTask::kRaw: {
      std::optional<SpecialIds> specials;
      if (options_.raw.add_special_tokens && tokenizer().word_pieces() != nullptr) {
        HW_ASSIGN_OR_RETURN(specials, tokenizer().special_ids());
      }
      return RawExamples(options_.max_seq_length, specials);
    }
  }
  HW_ASSIGN_OR_RETURN(const SpecialIds specials, tokenizer().special_ids());
  return ElectraExamples(options_.max_seq_length, specials, key);
}

int64_t RecordsBuild::corpus_bytes() const {
  return std::accumulate(files_.begin(), files_.end(), int64_t{0},
                         [](int64_t sum, const CorpusFile& file) { return sum + file.size; });
}

int64_t RecordsBuild::shard_count() const {
  if (options_.num_out_files) return *options_.num_out_files;
  return std::clamp(ceil_div(corpus_bytes(), kShardBytes), kFewestShards, kMostShards);
}

Result<> RecordsBuild::build(ShardSet& shards, const std::function<bool()>& stop) {
  Progress progress("records build", corpus_bytes(), "B");
  std::vector<BuildLane*> open;
  for (BuildLane& lane : lanes_) open.push_back(&lane);
  while (true) {
    std::erase_if(open, [](const BuildLane* lane) { return lane->done(); });
    if (open.empty()) return {};
    if (stop && stop()) return fail(Code::kCancelled, "interrupted; no shard was written");
    HW_RETURN_IF_ERROR(run_round(open, shards));
    const int64_t done = std::accumulate(
        lanes_.begin(), lanes_.end(), int64_t{0},
        [](int64_t sum, const BuildLane& lane) { return sum + lane.disk_bytes_done(); });
    progress.update(done, fmt::format("{} examples", shards.records()));
  }
}

Result<> RecordsBuild::run_round(std::span<BuildLane* const> open, ShardSet& shards) {
  const auto lanes = static_cast<int64_t>(open.size());
  const auto for_each_lane = [&](auto work) {
    parallel_for(lanes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(static_cast<size_t>(i));
    });
  };
  std::vector<Result<>> errors(open.size());
  for_each_lane([&](size_t i) { errors[i] = open[i]->read(kBlocksPerRound / lanes); });
  for (Result<>& error : errors) HW_RETURN_IF_ERROR(std::move(error));
  std::vector<TextBlock*> blocks;
  for (BuildLane* lane : open)
    for (TextBlock& block : lane->blocks()) blocks.push_back(&block);
  parallel_for(static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      blocks[static_cast<size_t>(i)]->tokenize(*block_tokenizer_);
  });
  for_each_lane([&](size_t i) { open[i]->take_blocks(); });
  pool_.next_round();
  for (BuildLane* lane : open) pool_.add(lane->take_documents());
  // Copies of a text stand far from one another: each goes through the whole round.
  const int64_t copies = task_ == RecordsTask::kBert ? options_.bert.copies() : 1;
  for (int64_t copy = 0; copy < copies; ++copy) {
    for_each_lane([&](size_t i) { open[i]->make_copy(copy, pool_.of_lane(i), pool_); });
    for (const BuildLane* lane : open) HW_RETURN_IF_ERROR(write(*lane, shards));
  }
  for (BuildLane* lane : open) lane->end_round();
  return {};
}

Result<> RecordsBuild::finish_lanes(ShardSet& shards) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    BuildLane& lane = lanes_[i];
    lane.finish(i + 1 < lanes_.size() ? &lanes_[i + 1] : nullptr);
    HW_RETURN_IF_ERROR(write(lane, shards));
    summary_.counts.add(lane.counts());
    summary_.unknown.merge(lane.unknown());
    if (summary_.first_replaced.empty()) summary_.first_replaced = lane.first_replaced();
  }
  return {};
}

tl::unexpected<Error> RecordsBuild::no_examples() const {
  const BuildCounts& c = summary_.counts;
  if (c.lost_tokens > 0)
    return fail_hint(Code::kInvalidArgument, "use a smaller --max-seq-length, or --last-block keep",
                     "{}: no examples: {} tokens do not fill a block of {}", options_.corpus_dir,
                     c.tokens, options_.max_seq_length);
  if (c.excluded() > 0)
    return fail_hint(Code::kInvalidArgument, "is the corpus itself among the files of --exclude?",
                     "{}: no examples: all lines with text, {}, hold an excluded one",
                     options_.corpus_dir, c.excluded());
  return fail_hint(Code::kInvalidArgument, "is this the right folder?",
                   "{}: no examples: {} files with {} lines hold no text", options_.corpus_dir,
                   c.files, c.lines);
}

// A path inside the corpus folder, so that a moved corpus keeps its digest.
std::string RecordsBuild::relative_name(const std::string& path) const {
  std::string_view name = path;
  if (!name.starts_with(options_.corpus_dir) || name.size() == options_.corpus_dir.size())
    return base_name(path);
  name.remove_prefix(options_.corpus_dir.size());
  while (name.starts_with('/')) name.remove_prefix(1);
  return std::string(name);
}

Json RecordsBuild::manifest() const {
  std::vector<std::string> digests(files_.size());
  for (const BuildLane& lane : lanes_)
    for (const auto& [number, digest] : lane.digests())
      digests[static_cast<size_t>(number)] = digest;
  std::vector<BuildInput> inputs;
  for (size_t i = 0; i < files_.size(); ++i)
    inputs.push_back({relative_name(files_[i].path), files_[i].size, digests[i]});
  return build_manifest(options_, tokenizer(), inputs, summary_);
}

}  // namespace

Result<RecordsBuildSummary> build_records(FileSystem& fs, const RecordsBuildOptions& options,
                                          const std::function<bool()>& stop,
                                          const Fields* origins) {
  HW_ASSIGN_OR_RETURN(const RecordsTask task, parse_records_task(options.task));
  if (options.max_seq_length < 5 || options.max_seq_length > 65536)
    return fail(Code::kInvalidArgument, "max_seq_length must be 5 to 65536, got {}",
                options.max_seq_length);
  return RecordsBuild(fs, options, task).run(stop, origins);
}

}  // namespace headwater
