#include "finetune/task_model.h"

#include "base/digest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/stop_signal.h"
#include "checkpoints/hf_tokenizer.h"

namespace headwater {
namespace {

constexpr const char* kTaskKey = "headwater_task";

std::string& other_keys(Model& model) {
  return std::visit([](auto& config) -> std::string& { return config.other_keys; }, model.config);
}

Json keys_of(const Model& model) {
  Model copy = model;
  return parse_json(other_keys(copy), "config.json").value_or(Json::object());
}

std::vector<float> row_logits(std::span<const float> logits, const ModelBatch& batch,
                              const Feature& feature, size_t row, size_t width, bool per_token) {
  const size_t length = per_token ? static_cast<size_t>(batch.seq_length) * width : width;
  const size_t real = per_token ? feature.input_ids.size() * width : width;
  const auto own = logits.subspan(row * length, real);
  return {own.begin(), own.end()};
}

}  // namespace

Objective objective_of(TaskKind kind) {
  if (kind == TaskKind::kTokens) return Objective::kTokenClassification;
  return kind == TaskKind::kQuestions ? Objective::kQuestionAnswering : Objective::kClassification;
}

SavedTask SavedTask::of(const Model& model) {
  SavedTask saved;
  const Json keys = keys_of(model);
  const auto found = keys.find(kTaskKey);
  if (found == keys.end() || !found->is_object()) return saved;
  const auto text = [&](const char* key) {
    const auto value = found->find(key);
    return value != found->end() && value->is_string() ? value->get<std::string>() : std::string();
  };
  saved.task = text("task");
  saved.pair_column = text("pair_column");
  if (const auto length = found->find("max_seq_length");
      length != found->end() && length->is_number_integer())
    saved.max_seq_length = std::clamp<int64_t>(length->get<int64_t>(), 0, 1 << 20);
  const auto values = found->find("thresholds");
  const bool valid = values != found->end() && values->is_array() && !values->empty() &&
                     std::ranges::all_of(*values, [](const Json& v) { return v.is_number(); });
  if (valid) {
    saved.thresholds = Thresholds{values->get<std::vector<double>>(),
                                  found->value("at_threshold", "") == "at-least"};
  }
  return saved;
}

void SavedTask::put_into(Model& model) const {
  Json keys = keys_of(model);
  Json object = {{"task", task}, {"max_seq_length", max_seq_length}};
  if (!pair_column.empty()) object["pair_column"] = pair_column;
  if (thresholds) {
    object["thresholds"] = thresholds->values;
    object["at_threshold"] = thresholds->inclusive ? "at-least" : "above";
  }
  keys[kTaskKey] = std::move(object);
  other_keys(model) = dump_json(keys);
}

std::string model_directory(FileSystem& fs, const std::string& path) {
  const std::string inner = join_path(path, "model");
  return fs.exists(join_path(inner, "config.json")) ? inner : path;
}

Result<std::string> model_digest(FileSystem& fs, const std::string& path) {
  const std::string folder = model_directory(fs, path);
  for (const char* name : {"model.safetensors", "pytorch_model.bin", "config.json"}) {
    const std::string file = join_path(folder, name);
    if (!fs.exists(file)) continue;
    HW_ASSIGN_OR_RETURN(const FileBytes bytes, fs.map(file));
    return sha256_hex(bytes.text());
  }
  return std::string();
}

Result<ModelSource> open_task_model(FileSystem& fs, const std::string& path, TaskKind kind) {
  TrainOptions options;
  options.model = path;
  options.objective = std::string(objective_name(objective_of(kind)));
  return read_model_source(fs, options);
}

void set_labels(Model& model, TaskKind kind, const std::vector<std::string>& labels) {
  Json keys = keys_of(model);
  for (const char* key : {"id2label", "label2id", "problem_type", "num_labels", kTaskKey})
    keys.erase(key);
  other_keys(model) = dump_json(keys);
  if (kind == TaskKind::kQuestions) return;
  // A head that the model did not have takes its dropout from the encoder's configuration.
  if (const auto read = ClassifierConfig::from_hf_json(model.to_hf_json(), "config.json"))
    model.classifier.dropout = read->dropout;
  model.classifier.labels = labels;
  model.classifier.num_labels = static_cast<int64_t>(labels.size());
  model.classifier.problem = problem_of(kind);
}

Result<TaskTokenizer> open_task_tokenizer(FileSystem& fs, const std::string& path,
                                          const Model& model) {
  HW_ASSIGN_OR_RETURN(AnyTokenizer tokenizer, AnyTokenizer::open(fs, path));
  const Tokenizer* const pieces = tokenizer.word_pieces();
  if (pieces == nullptr) return fail(Code::kUnimplemented, "{} is no WordPiece vocabulary", path);
  if (tokenizer.size() > model.vocab_size()) {
    return fail_hint(Code::kInvalidArgument, "name the model's own with --tokenizer",
                     "{} has {} tokens, the model has rows for {}", path, tokenizer.size(),
                     model.vocab_size());
  }
  HW_ASSIGN_OR_RETURN(Encoder encoder, Encoder::create(*pieces));
  return TaskTokenizer{std::move(encoder), std::move(tokenizer), path};
}

Result<std::vector<std::pair<std::string, std::string>>> tokenizer_files(
    FileSystem& fs, const TaskTokenizer& tokenizer, const Model& model) {
  const auto info = fs.info(tokenizer.path);
  const bool is_folder = info && info->is_directory;
  HW_ASSIGN_OR_RETURN(
      auto files,
      read_tokenizer_folder(fs, is_folder ? tokenizer.path : directory_name(tokenizer.path)));
  const bool complete = std::ranges::any_of(
      files, [](const auto& file) { return file.first == "tokenizer_config.json"; });
  if (complete && is_folder) return files;
  const Tokenizer& pieces = tokenizer.encoder.tokenizer();
  HW_ASSIGN_OR_RETURN(
      HfTokenizerFiles made,
      hf_tokenizer_files(pieces.vocabulary(), pieces.options(), model.max_positions()));
  return std::move(made.files);
}

Result<std::optional<SplitLogits>> compute_logits(ModelTrainer& trainer, Objective objective,
                                                  const FeatureSet& features,
                                                  const BatchRules& rules, int64_t batch_size,
                                                  std::string_view what) {
  const auto batches = ordered_batches(features.rows, batch_size);
  const bool per_token = objective != Objective::kClassification;
  const auto width =
      static_cast<size_t>(objective == Objective::kQuestionAnswering ? 2 : rules.labels);
  SplitLogits split;
  split.rows.resize(features.rows.size());
  ModelMetrics metrics(objective);
  metrics.keep_logits();
  Progress progress(std::string(what), static_cast<int64_t>(batches.size()), "batches");
  for (size_t i = 0; i < batches.size(); ++i) {
    if (StopSignal::requested()) return std::optional<SplitLogits>();
    ModelBatch batch = make_model_batch(features.rows, batches[i], rules);
    batch.label_weights.clear();  // weights are of training
    batch.step = static_cast<int64_t>(i);
    metrics.logits().clear();
    HW_RETURN_IF_ERROR(trainer.evaluate(batch, metrics));
    for (size_t row = 0; row < batches[i].size(); ++row) {
      const size_t index = batches[i][row];
      split.rows[index] =
          row_logits(metrics.logits(), batch, features.rows[index], row, width, per_token);
    }
    progress.update(static_cast<int64_t>(i + 1));
  }
  progress.finish();
  split.loss = find_metric(metrics.values(), "loss").value_or(kUndefined);
  return std::optional(std::move(split));
}

}  // namespace headwater
