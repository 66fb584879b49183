// Text from a language model: prompts in, text out. Over generator.h, which knows tokens only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executors/device_options.h"
#include "generate/generator.h"
#include "io/file.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

// A model that is ready: its weights on a device, its tokenizer, and what begins and ends a text.
struct TextModel {
  Model model;
  AnyTokenizer tokenizer;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<StateStore> store;
  std::optional<int32_t> start_token;  // stands for an empty prompt
  std::vector<int32_t> stop_tokens;
  std::vector<std::string> notes;  // warnings for the person who asks

  // `path`: a checkpoint of any format (checkpoints/model_weights.h). `tokenizer`: a file or folder
  // (tokens/tokenizer_files.h); empty: what is with the checkpoint. Start and stop tokens are those
  // of generation_config.json, else of config.json, else the tokenizer's <|endoftext|>.
  static Result<TextModel> open(FileSystem& fs, const std::string& path,
                                const std::string& tokenizer, const DeviceOptions& device);
};

// The tokens of a prompt, which must be UTF-8; of an empty one the start token.
Result<std::vector<int32_t>> prompt_ids(const AnyTokenizer& tokenizer, std::string_view prompt,
                                        std::optional<int32_t> start_token);

struct GeneratedText {
  std::string text;  // what follows the prompt
  std::vector<int32_t> ids;
  bool stopped = false;  // by a stop token; else by its length
};
struct GeneratedTexts {
  std::vector<GeneratedText> texts;            // one per sequence of the generator
  double prompt_seconds = 0, new_seconds = 0;  // for reports
};

// Called with every new piece of text of every sequence, valid UTF-8; an error ends the work.
using TextSink = std::function<Result<>(int64_t sequence, std::string_view piece)>;

// Tokens of the model that the tokenizer does not have are never taken.
Result<GeneratedTexts> generate_text(Generator& generator, const AnyTokenizer& tokenizer,
                                     std::span<const int32_t> prompt,
                                     const GenerateOptions& options, Key key,
                                     const TextSink& sink = {});

}  // namespace headwater
