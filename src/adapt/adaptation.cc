#include "adapt/adaptation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "records/record_files.h"
#include "report/json_files.h"
#include "report/paired_runs.h"
#include "train/start_sizes.h"

namespace headwater {
namespace {

// A line: the texts of a file that pre-training must not see.
std::string as_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  return text;
}

// Options of a run that its result does not depend on.
constexpr std::array kWithoutEffect = {
    "threads",   "output_dir",          "resume",
    "records",   "vocab_file",          "init_checkpoint",
    "log_steps", "keep_checkpoint_max", "save_checkpoints_steps"};

}  // namespace

std::string records_stage(const AdaptSide& side) { return "records/" + side.name; }
std::string pretrain_stage_name(const AdaptSide& side) { return "pretrain/" + side.name; }
std::string model_stage(const std::string& side) { return "models/" + side; }

Result<std::unique_ptr<Adaptation>> Adaptation::open(FileSystem& fs, const AdaptOptions& options,
                                                     const Fields& fields) {
  HW_ASSIGN_OR_RETURN(StageLedger ledger, StageLedger::open(fs, options.output_dir));
  std::unique_ptr<Adaptation> opened(
      new Adaptation(fs, options, given_run_options(fields), std::move(ledger)));
  HW_ASSIGN_OR_RETURN(opened->source, AdaptSource::find(fs, options.model));
  HW_ASSIGN_OR_RETURN(Json sizes, start_sizes(fs, options.model));
  opened->sizes_ = std::make_unique<Json>(std::move(sizes));
  opened->sides.push_back({"adapted", options.corpus_dir});
  if (!options.control_corpus_dir.empty())
    opened->sides.push_back({"control", options.control_corpus_dir});
  for (const AdaptSide& side : opened->sides) {
    const auto files = list_corpus(fs, side.corpus);
    if (!files) return tl::unexpected<Error>(files.error());
  }
  HW_RETURN_IF_ERROR(opened->read_task());
  return opened;
}

Result<> Adaptation::read_task() {
  const FinetuneOptions& runs = options.finetune;
  HW_ASSIGN_OR_RETURN(const Task task, runs.task.resolve_task(fs));
  for (const auto& [name, file] : {std::pair("train", &runs.train), std::pair("dev", &runs.dev),
                                   std::pair("test", &runs.test)}) {
    if (file->empty()) continue;
    HW_ASSIGN_OR_RETURN(const TaskData data,
                        read_task_data(fs, *file, task, runs.task.read_options()));
    data_digests[name] = data.digest;
    const auto count = static_cast<int64_t>(data.examples.size());
    if (file == &runs.train) {
      train_examples = count;
      for (const TaskExample& example : data.examples)
        mean_train_bytes += static_cast<double>(example.text.size() + example.pair.size()) /
                            static_cast<double>(count);
      continue;
    }
    judged_examples += count;
    for (const TaskExample& example : data.examples) {
      for (const std::string* text : {&example.text, &example.pair})
        if (!text->empty()) excluded.push_back(as_line(*text));
      if (!example.words.empty())
        excluded.push_back(as_line(fmt::format("{}", fmt::join(example.words, " "))));
    }
  }
  return {};
}

std::string Adaptation::model_of(const std::string& side) const {
  if (side == "base" && !source.is_run) return source.model;
  return network_to_tune(fs, path(model_stage(side)));
}

Result<std::string> Adaptation::tokenizer() const {
  if (!options.finetune.tokenizer.empty()) return options.finetune.tokenizer;
  const std::string model = model_of("base");
  HW_RETURN_IF_ERROR(vocabulary_of(fs, model));
  return model;
}

std::string Adaptation::excluded_lines() const {
  std::string lines;
  for (const std::string& text : excluded) lines += text + "\n";
  return lines;
}

Json Adaptation::records_inputs(const AdaptSide& side, int64_t max_seq_length) const {
  Json files = Json::array();
  if (const auto listed = list_corpus(fs, side.corpus)) {
    for (const CorpusFile& file : *listed) {
      const auto info = fs.info(file.path);
      files.push_back({file.path, file.size, info ? info->modified : 0});
    }
  }
  return {{"files", std::move(files)},
          {"max_seq_length", max_seq_length},
          {"model", source.digest},
          {"tokenizer", options.finetune.tokenizer},
          {"excluded", sha256_hex(excluded_lines())}};
}

Json Adaptation::pretrain_inputs(const AdaptSide& side, const PretrainStage& stage) const {
  Json used = stage.fields.to_json();
  for (const char* name : kWithoutEffect) used.erase(name);
  const auto manifest =
      read_file(fs, join_path(path(records_stage(side)), kRecordsManifest), kRecordsManifestLimit);
  return {{"records", manifest ? sha256_hex(*manifest) : ""},
          {"model", source.digest},
          {"options", std::move(used)}};
}

Json Adaptation::runs_inputs() const {
  Json models = {{"base", source.digest}};
  for (const AdaptSide& side : sides) models[side.name] = ledger.key(model_stage(side.name));
  return {{"models", std::move(models)},
          {"options", telling_run_options(run_options)},
          {"data", data_digests}};
}

Result<int64_t> Adaptation::max_seq_length() {
  HW_ASSIGN_OR_RETURN(const auto stage, pretrain_stage(options, sizes(), 1));
  return stage->options.max_seq_length;
}

Result<int64_t> count_examples(FileSystem& fs, const std::string& records) {
  const std::string manifest = join_path(records, kRecordsManifest);
  if (!fs.exists(manifest)) return 0;
  HW_ASSIGN_OR_RETURN(const Json json, read_object(fs, manifest));
  return whole_of(member(member(json, "counts"), "examples"));
}

}  // namespace headwater
