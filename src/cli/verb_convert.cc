// `convert`: a checkpoint of one dialect as one of another, and the proof that it is the same
// model.
#include <cstdio>
#include <map>

#include "base/log.h"
#include "base/threads.h"
#include "checkpoints/convert.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "train/forward_check.h"

namespace headwater {
namespace {

constexpr double kLargestDifference = 1e-4;

struct ConvertVerbOptions {
  std::string from, to, output_dir, model_config, vocab_file;
  bool slots = true, overwrite = false, check = true;
  bool do_lower_case = false;
  int64_t threads = 0;

  void describe(Fields& f) {
    f("from", from, "checkpoint: a file, a directory, or a TensorFlow prefix")
        .value_name("PATH")
        .required();
    f("to", to, "tf: model.ckpt-<step>; hf: model.safetensors; hf-bin: pytorch_model.bin; native")
        .one_of(weights_format_names())
        .required();
    f("output_dir", output_dir, "where it is made").value_name("DIR").alias("output").required();
    f("model_config", model_config,
      "config.json of the model; auto: the one beside the weights; without one the sizes are those "
      "that the weights show")
        .value_name("FILE");
    f("slots", slots, "take Adam's moments along (tf, native)").negation("no_slots");
    f("vocab_file", vocab_file,
      "make a Hugging Face directory's tokenizer files from it; auto: those beside the weights")
        .value_name("FILE");
    f("do_lower_case", do_lower_case, "that tokenizer folds case").negation("no_lower_case");
    f("check", check, "run both models on one input and compare").negation("no_check");
    f("overwrite", overwrite, "replace files in a directory that is not empty");
    f("threads", threads, "CPU threads of the comparison; 0: one per core").range(0, 4096);
  }
};

// "electra/encoder/layer_3/output" -> "electra/encoder/layer_#/output": a line per layer's tensor.
std::string folded(std::string_view name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    const bool starts = i > 0 && (name[i - 1] == '_' || name[i - 1] == '.' || name[i - 1] == 'h');
    if (!digit || !(starts || pattern.ends_with('#'))) pattern += name[i];
    else if (!pattern.ends_with('#')) pattern += '#';
  }
  return pattern;
}

std::string change_of(const ConvertedTensor& tensor) {
  if (tensor.transposed) return "transposed";
  if (tensor.reshaped()) return "reshaped";
  return tensor.renamed() ? "renamed" : "as it is";
}

std::string tensor_table(const ConvertReport& report) {
  std::vector<std::pair<std::string, std::vector<const ConvertedTensor*>>> lines;
  std::map<std::string, size_t> line_of;
  for (const ConvertedTensor& tensor : report.tensors) {
    std::string key = fmt::format("{}|{}|{}", folded(tensor.from), folded(tensor.to),
                                  shape_text(tensor.to_shape));
    const auto [it, added] = line_of.emplace(std::move(key), lines.size());
    if (added) lines.push_back({"", {}});
    lines[it->second].second.push_back(&tensor);
  }
  TextTable table("llrrll");
  table.add({"from", "to", "shape", "x", "change"});
  for (const auto& [unused, tensors] : lines) {
    const ConvertedTensor& first = *tensors.front();
    const bool many = tensors.size() > 1;
    table.add({many ? folded(first.from) : first.from, many ? folded(first.to) : first.to,
               shape_text(first.to_shape), many ? fmt::format("{}", tensors.size()) : "",
               change_of(first)});
  }
  return table.text("  ");
}

void list_names(std::string& text, std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text += fmt::format("  {}: {}", what, names.size());
  for (size_t i = 0; i < std::min<size_t>(names.size(), 8); ++i)
    text += (i == 0 ? " (" : ", ") + names[i];
  text += names.size() > 8 ? ", ...)\n" : ")\n";
}

std::string report_text(const ModelWeights& weights, const ConvertReport& report) {
  std::string text = fmt::format("{}: {}", weights.path(), weights.source(0).format());
  for (const ModelWeights::Network& network : weights.networks())
    text += fmt::format(", {}", architecture_name(network.model.architecture));
  if (weights.step()) text += fmt::format(", step {}", *weights.step());
  text += "\n" + tensor_table(report);
  text +=
      fmt::format("taken: {} tensors, {} parameters",
                  grouped(static_cast<int64_t>(report.tensors.size())), grouped(report.parameters));
  if (report.moments > 0) text += fmt::format(", {} moments", grouped(report.moments));
  text += "\nleft behind:\n";
  const std::string before = text;
  if (report.moments_dropped > 0)
    text += fmt::format("  optimizer slots: {}\n", grouped(report.moments_dropped));
  list_names(text, "counters", weights.left().steps);
  list_names(text, "buffers", weights.left().buffers);
  list_names(text, "repetitions of tied tensors", weights.left().tied);
  list_names(text, "unknown", weights.left().unknown);
  if (text == before) text += "  nothing\n";
  return text;
}

Result<std::vector<Tensor>> outputs_of(const ModelWeights& weights,
                                       const ModelWeights::Network& network) {
  const auto read = [&](const std::string& name) -> Result<Tensor> {
    const ModelWeights::Item* const item = weights.find(network, name);
    if (item == nullptr) return fail(Code::kNotFound, "{} lacks {}", weights.path(), name);
    return weights.read(*item);
  };
  return forward_outputs(network.model, read, 1);
}

// The network of `weights` that is `like` one of another checkpoint.
const ModelWeights::Network* counterpart(const ModelWeights& weights,
                                         const ModelWeights::Network& like) {
  for (const ModelWeights::Network& network : weights.networks()) {
    if (network.model.architecture == like.model.architecture) return &network;
  }
  return nullptr;
}

Result<> check_forward(FileSystem& fs, const ModelWeights& from, const std::string& to_path) {
  HW_ASSIGN_OR_RETURN(const ModelWeights to, ModelWeights::open(fs, to_path));
  for (const ModelWeights::Network& network : from.networks()) {
    const ModelWeights::Network* const result = counterpart(to, network);
    if (result == nullptr) {
      return fail(Code::kDataLoss, "{} does not hold the {} that was written", to_path,
                  architecture_name(network.model.architecture));
    }
    ModelWeights::Network same = *result;
    same.model = network.model;  // heads that only the source's config knows
    HW_ASSIGN_OR_RETURN(const auto before, outputs_of(from, network));
    HW_ASSIGN_OR_RETURN(const auto after, outputs_of(to, same));
    const ForwardDifference difference = compare_outputs(before, after);
    std::printf("forward check: %s, largest difference %.3g of outputs up to %.3g\n",
                std::string(architecture_name(network.model.architecture)).c_str(),
                difference.largest, difference.scale);
    if (!(difference.largest <= kLargestDifference)) {
      return fail_hint(Code::kDataLoss, "this is a bug of the conversion: please report it",
                       "{} is not the same model as {}: their outputs differ by {:.3g}", to_path,
                       from.path(), difference.largest);
    }
  }
  return {};
}

Result<int> run_convert(const ConvertVerbOptions& options) {
  set_num_threads(static_cast<int>(options.threads));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const ModelWeights weights,
                      ModelWeights::open(fs, options.from, options.model_config));
  for (const std::string& note : weights.notes()) log_warning("{}", note);
  ConvertOptions convert;
  convert.to = *find_weights_format(options.to);
  convert.output_dir = options.output_dir;
  convert.slots = options.slots;
  convert.overwrite = options.overwrite;
  convert.tokenizer.do_lower_case = options.do_lower_case;
  std::optional<Vocabulary> vocabulary;
  if (!options.vocab_file.empty()) {
    HW_ASSIGN_OR_RETURN(vocabulary, Vocabulary::load(fs, options.vocab_file));
    convert.vocabulary = &*vocabulary;
  }
  for (const ModelWeights::Network& network : weights.networks()) {
    if (!network.heads_assumed) continue;
    log_info(
        "note: the weights do not show the number of attention heads: 64 wide each is assumed "
        "(--model-config says it)");
    break;
  }
  HW_ASSIGN_OR_RETURN(const ConvertReport report, convert_weights(fs, weights, convert));
  for (const std::string& note : report.notes) log_info("note: {}", note);
  std::fputs(report_text(weights, report).c_str(), stdout);
  for (const std::string& output : report.outputs) std::printf("-> %s\n", output.c_str());
  if (options.check) {
    const std::string result =
        report.outputs.size() == 1 ? report.outputs.front() : options.output_dir;
    HW_RETURN_IF_ERROR(check_forward(fs, weights, result));
  }
  return 0;
}

}  // namespace

Verb make_convert_verb() {
  return make_verb<ConvertVerbOptions>(
      {.name = "convert",
       .summary = "write a checkpoint in another program's form",
       .description =
           "Reads TensorFlow checkpoints with google's and OpenAI's names, Hugging Face "
           "directories (safetensors, pytorch_model.bin, tf_model.h5) and checkpoints of this "
           "program, of ELECTRA, BERT and GPT-2; which it is, of which model and size, is seen "
           "from names and shapes. Writes any of them. A table tells what became of every tensor. "
           "At the end both models run on the same input; outputs that differ by more than 1e-4 "
           "are an error.\n"
           "\n"
           "Of an ELECTRA pair, the Hugging Face side is two directories, discriminator/ and "
           "generator/ below the output directory, and --from takes such a directory.",
       .examples =
           {{"headwater convert --from koelectra/model.ckpt-1500000 --to hf --output-dir hf "
             "--vocab-file vocab.txt",
             "a released checkpoint for transformers"},
            {"headwater convert --from hf --to tf --output-dir tf", "and back"},
            {"headwater convert --from bert-base --to native --output-dir init",
             "weights for --init-checkpoint"}}},
      run_convert);
}

}  // namespace headwater
