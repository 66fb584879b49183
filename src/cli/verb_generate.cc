// `generate`: text that a language model continues.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "executors/device_options.h"
#include "generate/text.h"
#include "io/standard_streams.h"
#include "tokens/line_blocks.h"

namespace headwater {
namespace {

struct GenerateVerbOptions {
  GenerateVerbOptions() { device.num_replicas = 1; }  // the prompts are no batch to be dealt

  std::string model;
  std::vector<std::string> words, prompts;
  std::optional<std::string> prompt_file, tokenizer;
  int64_t max_new_tokens = 100, num_samples = 1, seed = 0;
  bool greedy = false, echo = true, stop = true;
  SamplingOptions sampling;
  std::string format = "text";
  std::optional<int64_t> threads;
  DeviceOptions device;

  void describe(Fields& f) {
    f("words", words, "text to continue, each for itself; without any, the lines of standard input")
        .positional()
        .value_name("PROMPT");
    f("model", model,
      "language model: a Hugging Face directory, a TensorFlow prefix, or a run of this program "
      "(its "
      "latest checkpoint)")
        .alias("checkpoint")
        .value_name("DIR")
        .required();
    f("prompt", prompts, "the same as a PROMPT").value_name("TEXT");
    f("prompt_file", prompt_file, "a file of prompts, one a line; .gz, .zst and .xz are unpacked")
        .value_name("FILE");
    f("tokenizer", tokenizer,
      "tokenizer.json, vocab.json with merges.txt beside it, vocab.txt, or a folder that holds one "
      "of these; auto: what is with the model")
        .alias("vocab_file")
        .value_name("PATH");
    f("max_new_tokens", max_new_tokens, "tokens to add at most").range(1, 1 << 20);
    f("stop", stop, "end at the end-of-text token").negation("no_stop");
    f("num_samples", num_samples, "continuations of each prompt, drawn apart")
        .range(1, 4096)
        .alias("num_return_sequences");
    f.group("Sampling");
    f("greedy", greedy, "always the most likely token: --temperature 0").negation("do_sample");
    sampling.describe(f);
    f("seed", seed, "of the draws: the same seed gives the same text").non_negative();
    f.group("Output");
    f("format", format,
      "text as it comes, or a JSON object a continuation: prompt, text, ids, finish_reason (stop, "
      "length)")
        .one_of({"text", "jsonl"});
    f("echo", echo, "text: the prompt in front of what follows it");
    f("threads", threads, "threads to use; all cores when not given").range(1, 1024);
    device.describe(f);
  }

  // Draws are meant where something is said about them.
  Result<> resolve(Fields& f) {
    const auto given = [&](const char* name) { return !f.find(name)->is_default(); };
    const bool draws = given("top_k") || given("top_p") || num_samples > 1 ||
                       (given("greedy") && !greedy) || (given("temperature") && !sampling.greedy());
    if (greedy && draws) {
      return fail(Code::kInvalidArgument,
                  "--greedy takes no draws: --temperature, --top-k, --top-p and --num-samples do");
    }
    if (draws && !given("temperature")) sampling.temperature = 1;
    if (draws && sampling.greedy()) {
      return fail_hint(Code::kInvalidArgument, "give a temperature over 0",
                       "--temperature 0 always takes the most likely token: --top-k, --top-p and "
                       "--num-samples change nothing");
    }
    return {};
  }
};

struct Totals {
  int64_t prompts = 0, prompt_tokens = 0, new_tokens = 0;
  double prompt_seconds = 0, new_seconds = 0;
};

class Writer {
 public:
  Writer(const GenerateVerbOptions& options, TextModel& model)
      : options_(options), model_(model), out_(standard_output()) {}

  Result<> prepare() {
    HW_ASSIGN_OR_RETURN(generator_, Generator::create(model_.model, *model_.executor, *model_.store,
                                                      {.batch_size = options_.num_samples}));
    generate_.sampling = options_.sampling;
    generate_.max_new_tokens = options_.max_new_tokens;
    if (options_.stop) generate_.stop_tokens = model_.stop_tokens;
    return {};
  }

  Result<> write(const std::string& prompt) {
    HW_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                        prompt_ids(model_.tokenizer, prompt, model_.start_token));
    const bool text = options_.format == "text", streams = text && options_.num_samples == 1;
    TextSink sink;
    if (streams) {
      HW_RETURN_IF_ERROR(begin_text(prompt));
      sink = [this](int64_t, std::string_view piece) { return out_->write(piece); };
    }
    const auto number = static_cast<uint32_t>(totals_.prompts);
    const Key key = Key::from_seed(static_cast<uint64_t>(options_.seed)).fold_in(number);
    HW_ASSIGN_OR_RETURN(const GeneratedTexts generated,
                        generate_text(*generator_, model_.tokenizer, ids, generate_, key, sink));
    if (streams) HW_RETURN_IF_ERROR(out_->write("\n"));
    else HW_RETURN_IF_ERROR(write_all(prompt, generated));
    add_totals(ids, generated);
    return {};
  }

  void report() const {
    const Totals& t = totals_;
    log_info("{} prompt tokens in {:.2f} s, {} new tokens in {:.2f} s: {:.1f} tokens/s",
             t.prompt_tokens, t.prompt_seconds, t.new_tokens, t.new_seconds,
             t.new_seconds > 0 ? static_cast<double>(t.new_tokens) / t.new_seconds : 0.0);
  }

 private:
  // An empty line between continuations; they may have lines themselves.
  Result<> begin_text(const std::string& prompt) {
    const std::string before = std::exchange(begun_, true) ? "\n" : "";
    return out_->write(before + (options_.echo ? prompt : ""));
  }

  Result<> write_all(const std::string& prompt, const GeneratedTexts& generated) {
    for (const GeneratedText& one : generated.texts) {
      if (options_.format == "text") {
        HW_RETURN_IF_ERROR(begin_text(prompt));
        HW_RETURN_IF_ERROR(out_->write(one.text + "\n"));
        continue;
      }
      const Json line = {{"prompt", prompt},
                         {"text", one.text},
                         {"ids", one.ids},
                         {"finish_reason", one.stopped ? "stop" : "length"}};
      HW_RETURN_IF_ERROR(out_->write(dump_json(line) + "\n"));
    }
    return {};
  }

  void add_totals(const std::vector<int32_t>& ids, const GeneratedTexts& generated) {
    const auto size = static_cast<int64_t>(ids.size());
    totals_.prompts += 1;
    totals_.prompt_tokens += size;
    totals_.prompt_seconds += generated.prompt_seconds;
    totals_.new_seconds += generated.new_seconds;
    for (const GeneratedText& one : generated.texts) {
      const auto added = static_cast<int64_t>(one.ids.size());
      totals_.new_tokens += added;
      if (!one.stopped && added < options_.max_new_tokens && !std::exchange(warned_, true))
        log_warning("ended where the model's {} positions do", generator_->max_tokens());
    }
  }

  const GenerateVerbOptions& options_;
  TextModel& model_;
  std::unique_ptr<ByteSink> out_;
  std::unique_ptr<Generator> generator_;
  GenerateOptions generate_;
  Totals totals_;
  bool begun_ = false, warned_ = false;
};

// A prompt a line, each answered before the next is read: somebody may be typing them.
Result<> write_lines(ByteSource& source, const std::string& name, Writer& writer) {
  LineBlocks blocks(source, name, /*block_bytes=*/1);
  std::vector<std::string_view> lines;
  while (true) {
    HW_ASSIGN_OR_RETURN(const bool more, blocks.next(lines));
    if (!more) return {};
    for (size_t i = 0; i < lines.size(); ++i) {
      auto written = writer.write(std::string(lines[i]));
      if (written) continue;
      return in_context(
          std::move(written).error(),
          fmt::format("{}, line {}", name, blocks.first_line() + static_cast<int64_t>(i)));
    }
  }
}

Result<int> run_generate(GenerateVerbOptions& options) {
  set_num_threads(static_cast<int>(options.threads.value_or(0)));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(
      TextModel model,
      TextModel::open(fs, options.model, options.tokenizer.value_or(""), options.device));
  for (const std::string& note : model.notes) log_info("note: {}", note);
  Writer writer(options, model);
  HW_RETURN_IF_ERROR(writer.prepare());
  for (const auto* prompts : {&options.words, &options.prompts}) {
    for (const std::string& prompt : *prompts) HW_RETURN_IF_ERROR(writer.write(prompt));
  }
  if (options.prompt_file) {
    HW_ASSIGN_OR_RETURN(const auto source, open_decompressed(fs, *options.prompt_file));
    HW_RETURN_IF_ERROR(write_lines(*source, *options.prompt_file, writer));
  } else if (options.words.empty() && options.prompts.empty()) {
    HW_RETURN_IF_ERROR(write_lines(*standard_input(), "standard input", writer));
  }
  writer.report();
  return 0;
}

}  // namespace

Verb make_generate_verb() {
  return make_verb<GenerateVerbOptions>(
      {.name = "generate",
       .summary = "continue text with a GPT-2",
       .description =
           "Prompts come as arguments or one a line from a file or standard input; an empty one "
           "stands for the end-of-text token, so that the model begins a text of its own. What "
           "follows is written as it comes, until the end-of-text token, --max-new-tokens, or the "
           "model's last position.\n"
           "\n"
           "Without options about draws the most likely token is taken each time, and the tokens "
           "are those of transformers' generate(). --temperature, --top-k, --top-p and "
           "--num-samples draw instead, at temperature 1 unless it is given. Logits are processed "
           "as by transformers, in its order: repetition penalty, temperature, top-k, top-p. Every "
           "prompt and every sample has a random stream of its own, a function of the seed and its "
           "number.",
       .examples = {{"headwater generate --model gpt2 'Once upon a time'", "the most likely text"},
                    {"headwater generate --model gpt2 --temperature 0.8 --top-p 0.95 --num-samples "
                     "3 --seed 7 'Once upon a time'",
                     "three that are drawn"},
                    {"headwater generate --model run --format jsonl < prompts.txt > out.jsonl",
                     "a prompt a line, with a checkpoint of a run"}}},
      run_generate);
}

}  // namespace headwater
