// Writes a checkpoint in another dialect: TensorFlow with google's and OpenAI's names, Hugging Face
// directories, and our own.
//
// Nothing is computed: bytes are copied or their axes change places, one tensor at a time. What
// became of every tensor is in the report. Outputs appear when they are complete, and never over
// the input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoints/model_weights.h"
#include "io/file.h"
#include "tokens/tokenizer.h"
#include "tokens/vocabulary.h"

namespace headwater {

enum class WeightsFormat {
  kTensorFlow,      // <output>/model.ckpt-<step>
  kHuggingFace,     // model.safetensors and config.json; of a pair in discriminator/, generator/
  kHuggingFaceBin,  // the same with pytorch_model.bin
  kNative,          // <output>/checkpoint-<step>
};
std::optional<WeightsFormat> find_weights_format(std::string_view name);  // "tf", "hf", ...
std::vector<std::string> weights_format_names();

struct ConvertOptions {
  WeightsFormat to = WeightsFormat::kHuggingFace;
  std::string output_dir;
  bool slots = true;  // take the moments along where the format has them
  bool overwrite = false;
  // For tokenizer files of a Hugging Face directory, where the source has none.
  const Vocabulary* vocabulary = nullptr;
  TokenizerOptions tokenizer;
};

struct ConvertedTensor {
  std::string from, to;
  Shape from_shape, to_shape;
  bool transposed = false;

  bool renamed() const { return from != to; }
  bool reshaped() const { return !transposed && from_shape != to_shape; }
};

struct ConvertReport {
  std::vector<ConvertedTensor> tensors;  // parameters
  std::vector<std::string> outputs;      // directories, or the prefix
  int64_t moments = 0, moments_dropped = 0;
  int64_t parameters = 0, bytes = 0;
  std::vector<std::string> notes;
};

// A parameter that a network needs and the source lacks, or has in another shape, is an error that
// lists all of them; nothing is written then.
Result<ConvertReport> convert_weights(FileSystem& fs, const ModelWeights& weights,
                                      const ConvertOptions& options);

}  // namespace headwater
