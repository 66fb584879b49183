#include "train/model_inputs.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/hf_directory.h"
#include "checkpoints/hf_tokenizer.h"
#include "records/record_files.h"
#include "records/records_manifest.h"

namespace headwater {
namespace {

// The architecture of the family that has the objective's head; none: the family has none.
std::optional<Architecture> with_head(Architecture architecture, Objective objective) {
  const std::string_view family = model_type(architecture);
  if (family == "bert") {
    if (objective == Objective::kMlm) return Architecture::kBertForMaskedLM;
    if (predicts_sentences(objective)) return Architecture::kBertForPreTraining;
    if (objective == Objective::kClassification)
      return Architecture::kBertForSequenceClassification;
    if (objective == Objective::kTokenClassification)
      return Architecture::kBertForTokenClassification;
    if (objective == Objective::kQuestionAnswering) return Architecture::kBertForQuestionAnswering;
  }
  if (family == "electra") {
    if (objective == Objective::kMlm) return Architecture::kElectraForMaskedLM;
    if (objective == Objective::kRtd) return Architecture::kElectraForPreTraining;
    if (objective == Objective::kClassification)
      return Architecture::kElectraForSequenceClassification;
    if (objective == Objective::kTokenClassification)
      return Architecture::kElectraForTokenClassification;
    if (objective == Objective::kQuestionAnswering)
      return Architecture::kElectraForQuestionAnswering;
  }
  return std::nullopt;
}

Result<> choose_objective(const TrainOptions& options, ModelSource& source) {
  Model& model = source.model;
  const std::optional<Objective> asked = options.objective ? find_objective(*options.objective)
                                                           : default_objective(model.architecture);
  if (!asked) {
    return fail_hint(Code::kInvalidArgument, "say what is trained: --objective mlm",
                     "{} is not for one objective", architecture_name(model.architecture));
  }
  source.objective = *asked;
  if (check_objective(model, *asked)) return {};
  const auto other = with_head(model.architecture, *asked);
  if (!other) return check_objective(model, *asked);
  source.notes.push_back(fmt::format("{} has no head for {}: {} is trained",
                                     architecture_name(model.architecture), *options.objective,
                                     architecture_name(*other)));
  model.architecture = *other;
  source.other_head = true;
  return {};
}

Result<> open_model_weights(FileSystem& fs, const std::string& path, const std::string& config,
                            ModelSource& source) {
  HW_ASSIGN_OR_RETURN(source.weights, ModelWeights::open(fs, path, config));
  if (source.weights->networks().size() != 1) {
    return fail_hint(Code::kInvalidArgument,
                     "`headwater export` makes a folder of each; both together: headwater pretrain",
                     "{} holds {} networks", path, source.weights->networks().size());
  }
  const ModelWeights::Network& network = source.weights->networks().front();
  source.model = network.model;
  source.notes = source.weights->notes();
  if (network.heads_assumed) {
    source.notes.push_back(fmt::format(
        "{} does not say how many attention heads the model has: heads of 64 are assumed", path));
  }
  source.origin = fmt::format("{} of {}", architecture_name(source.model.architecture), path);
  return {};
}

// A folder without weights is hardly meant to be a fresh start.
Error without_weights(FileSystem& fs, const std::string& directory, Error error) {
  const std::string config = join_path(directory, "config.json");
  if (error.code == Code::kNotFound && fs.exists(config))
    error.hint = fmt::format("for fresh weights: --model {}", config);
  return error;
}

// `path`, or the folder it is in.
std::string folder_of(FileSystem& fs, const std::string& path) {
  const auto info = fs.info(path);
  return info && info->is_directory ? path : directory_name(path);
}

bool has_tokenizer(FileSystem& fs, const std::string& folder) {
  return std::ranges::any_of(std::array{"tokenizer.json", "vocab.txt", "vocab.json"},
                             [&](const char* name) { return fs.exists(join_path(folder, name)); });
}

// The one that is named; else the one beside the model, where there is one.
Result<> open_tokenizer(FileSystem& fs, const TrainOptions& options, ModelInputFiles& files) {
  std::string path = options.tokenizer;
  if (path.empty()) {
    path = folder_of(fs, options.model);
    if (!has_tokenizer(fs, path)) return {};
  }
  HW_ASSIGN_OR_RETURN(files.tokenizer, AnyTokenizer::open(fs, path));
  files.tokenizer_path = path;
  const int64_t rows = files.source.model.vocab_size();
  if (files.tokenizer->size() <= rows) return {};
  return fail_hint(Code::kInvalidArgument, "name the model's own with --tokenizer",
                   "{} has {} tokens, the model has rows for {}", path, files.tokenizer->size(),
                   rows);
}

std::vector<std::string> token_texts(const AnyTokenizer& tokenizer) {
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(tokenizer.size()));
  for (int64_t id = 0; id < tokenizer.size(); ++id) texts.push_back(tokenizer.token(id));
  return texts;
}

Result<> open_words(FileSystem& fs, const TrainOptions& options, ModelInputFiles& files) {
  if (!options.whole_word_masking) return {};
  if (!files.tokenizer || files.tokenizer->word_pieces() == nullptr) {
    return fail_hint(Code::kInvalidArgument, "name it with --tokenizer",
                     "whole-word masking needs a WordPiece vocabulary");
  }
  std::unordered_set<std::string> words;
  if (!options.word_list.empty()) {
    HW_ASSIGN_OR_RETURN(words, WordBounds::read_words(fs, options.word_list));
  }
  const std::vector<std::string> texts = token_texts(*files.tokenizer);
  files.words = std::make_unique<WordBounds>(texts, std::move(words));
  return {};
}

// What their manifests say of the records: that they were made with the model's tokenizer.
Result<> check_records(FileSystem& fs, const TrainOptions& options, const ModelInputFiles& files) {
  if (!files.tokenizer || options.dataset != record_format_name(RecordFormat::kTfRecord)) return {};
  for (const std::string& records : {options.records, options.eval_records}) {
    if (records.empty()) continue;
    HW_ASSIGN_OR_RETURN(const auto found, list_record_files(fs, split_patterns(records)));
    HW_ASSIGN_OR_RETURN(const auto manifests, RecordsManifest::beside(fs, found));
    for (const RecordsManifest& manifest : manifests) {
      HW_RETURN_IF_ERROR(
          manifest.check_vocabulary(files.tokenizer_path, files.tokenizer->digest()));
    }
  }
  return {};
}

}  // namespace

Result<ModelSource> read_model_source(FileSystem& fs, const TrainOptions& options) {
  ModelSource source;
  const auto info = fs.info(options.model);
  if (!info) return in_context(info.error(), "--model");
  const bool is_config = !info->is_directory && options.model.ends_with(".json");
  if (!options.init_checkpoint.empty()) {
    const std::string config = is_config ? options.model : join_path(options.model, "config.json");
    HW_RETURN_IF_ERROR(open_model_weights(fs, options.init_checkpoint, config, source));
  } else if (is_config) {
    HW_ASSIGN_OR_RETURN(source.model, read_hf_model(fs, options.model));
    source.origin = fmt::format("fresh {}", architecture_name(source.model.architecture));
  } else if (auto opened = open_model_weights(fs, options.model, "", source); !opened) {
    return tl::unexpected<Error>(without_weights(fs, options.model, std::move(opened).error()));
  }
  HW_RETURN_IF_ERROR(choose_objective(options, source));
  return source;
}

Result<> check_model_fit(const ModelSource& source, const FitReport& fit) {
  // Half a network would be trained as if it were whole.
  const auto may_be_fresh = [&](const std::string& name) {
    return source.other_head && (name.find(".pooler.") != std::string::npos ||
                                 (!name.starts_with("bert.") && !name.starts_with("electra.")));
  };
  if (fit.mismatched.empty() && fit.matched > 0 && std::ranges::all_of(fit.missing, may_be_fresh))
    return {};
  return fail(Code::kFailedPrecondition, "{} does not fit: {}", source.origin, fit.to_string());
}

Result<ModelInputFiles> ModelInputFiles::open(FileSystem& fs, const TrainOptions& options) {
  ModelInputFiles files;
  HW_ASSIGN_OR_RETURN(files.source, read_model_source(fs, options));
  HW_RETURN_IF_ERROR(open_tokenizer(fs, options, files));
  HW_RETURN_IF_ERROR(open_words(fs, options, files));
  HW_RETURN_IF_ERROR(check_records(fs, options, files));
  if (!options.features.empty()) {
    HW_ASSIGN_OR_RETURN(files.features, read_feature_specs(fs, options.features));
    return files;
  }
  HW_ASSIGN_OR_RETURN(const RecordFormat format, parse_record_format(options.dataset));
  HW_ASSIGN_OR_RETURN(files.features, find_features(fs, options.records, format));
  return files;
}

Result<ModelBatchRules> ModelInputFiles::batch_rules(const TrainOptions& options,
                                                     bool evaluates) const {
  ModelBatchRules rules;
  rules.objective = source.objective;
  rules.classifier = source.model.classifier;
  rules.has_token_types = source.model.has_token_types();
  rules.seed = static_cast<uint64_t>(options.seed);
  rules.evaluates = evaluates;
  rules.masking.mask_prob = options.mlm_probability;
  rules.masking.max_predictions = options.max_predictions_per_seq;
  rules.masking.vocab_size = source.model.vocab_size();
  rules.masking.whole_words = words.get();
  HW_ASSIGN_OR_RETURN(const ModelBatchMaker maker,
                      ModelBatchMaker::create(features, options.pack, rules));
  if (!maker.draws_masks()) return rules;
  const Tokenizer* const pieces = tokenizer ? tokenizer->word_pieces() : nullptr;
  if (pieces == nullptr) {
    return fail_hint(Code::kInvalidArgument,
                     "name it with --tokenizer, or give records that have labels",
                     "masks for {} are drawn with a WordPiece vocabulary, and the model's folder "
                     "has none",
                     objective_name(source.objective));
  }
  HW_ASSIGN_OR_RETURN(const SpecialIds special, pieces->vocabulary().special_ids());
  rules.masking.mask_id = special.mask;
  rules.masking.vocab_size = tokenizer->size();
  rules.masking.never = {special.pad, special.cls, special.sep, special.mask};
  return rules;
}

// A line of text as models are used to it: [CLS] text [SEP], or text and end-of-text.
Result<EncodeText> ModelInputFiles::text_encoder() const {
  std::vector<int32_t> before, behind;
  if (const Tokenizer* const pieces = tokenizer->word_pieces()) {
    HW_ASSIGN_OR_RETURN(const SpecialIds special, pieces->vocabulary().special_ids());
    before.push_back(special.cls);
    behind.push_back(special.sep);
  } else if (const auto end = tokenizer->end_of_text()) {
    behind.push_back(*end);
  }
  return [this, before, behind](std::string_view text) -> Result<std::vector<int32_t>> {
    std::vector<int32_t> ids = before;
    tokenizer->append_ids(text, ids);
    ids.insert(ids.end(), behind.begin(), behind.end());
    return ids;
  };
}

Result<BatchPipelineOptions> ModelInputFiles::pipeline(const TrainOptions& options) const {
  HW_ASSIGN_OR_RETURN(BatchPipelineOptions data, options.pipeline());
  const int64_t positions = source.model.max_positions();
  data.features = features;
  data.vocab_size = source.model.vocab_size();
  data.max_length =
      options.max_seq_length > 0 ? std::min(options.max_seq_length, positions) : positions;
  if (data.pack && data.pad_to.rule != PadTo::Rule::kBuckets) {
    data.pad_to = {.rule = PadTo::Rule::kBuckets, .buckets = {data.max_length}};
    data.max_length = 0;  // longer documents are cut into pieces
  }
  if (tokenizer) {
    HW_ASSIGN_OR_RETURN(data.encode_text, text_encoder());
    if (const Tokenizer* const pieces = tokenizer->word_pieces()) {
      HW_ASSIGN_OR_RETURN(const SpecialIds special, pieces->vocabulary().special_ids());
      data.pad_id = special.pad;
    }
  }
  if (data.format == RecordFormat::kText && !tokenizer) {
    return fail_hint(Code::kInvalidArgument, "name it with --tokenizer",
                     "text needs a tokenizer, and the model's folder has none");
  }
  return data;
}

Result<> copy_tokenizer_files(FileSystem& fs, const std::string& from, const std::string& to) {
  const std::string folder = folder_of(fs, from);
  HW_ASSIGN_OR_RETURN(const auto files, read_tokenizer_folder(fs, folder));
  for (const auto& [name, content] : files)
    HW_RETURN_IF_ERROR(write_file_atomic(fs, join_path(to, name), content));
  return {};
}

}  // namespace headwater
