// From a training state to Hugging Face directories: one for each network of the ELECTRA pair,
// with weights, config.json and tokenizer files.
//
// Every tensor that transformers expects is checked for presence and shape, and nothing else is
// written: a directory that this makes loads without a warning or is not made at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoints/fit.h"
#include "checkpoints/safetensors.h"
#include "io/file.h"
#include "models/electra_config.h"
#include "models/model.h"
#include "state/train_state.h"
#include "tokens/tokenizer.h"
#include "tokens/vocabulary.h"

namespace headwater {

enum class ElectraNetwork { kDiscriminator, kGenerator };
std::string_view network_name(ElectraNetwork network);       // "discriminator", "generator"
std::string_view architecture_name(ElectraNetwork network);  // of transformers

// The tensors of a network as transformers names them; tied ones once.
Result<std::vector<TensorSpec>> hf_electra_tensors(const ElectraConfig& config,
                                                   ElectraNetwork network);

// A network's tensors under transformers' names, borrowed from `state`. Tensors that the two
// networks share are found under either's name. The error lists what is missing or misshapen.
Result<std::vector<TensorView>> hf_electra_weights(const TrainState& state,
                                                   const ElectraConfig& config,
                                                   ElectraNetwork network);

struct HfExport {
  const TrainState* state = nullptr;
  std::optional<ElectraConfig> discriminator, generator;  // what the run trained
  const Vocabulary* vocabulary = nullptr;
  TokenizerOptions tokenizer;
  bool overwrite = false;  // else a directory that holds files is an error
};

struct ExportedNetwork {
  std::string directory;
  int64_t tensors = 0, parameters = 0, bytes = 0;  // bytes of model.safetensors' data
};

struct HfExportReport {
  std::vector<ExportedNetwork> networks;
  std::vector<std::string> notes;  // for the person who exports
};

// Writes `<output_directory>/discriminator` and `<output_directory>/generator`. Nothing is written
// unless all networks fit.
Result<HfExportReport> export_electra(FileSystem& fs, const HfExport& request,
                                      const std::string& output_directory);

// One model of any family: its state under canonical names, which are transformers'. With
// `averaged` the moving averages stand for the weights. `files`: of its tokenizer.
struct HfModelExport {
  const TrainState* state = nullptr;
  Model model;
  bool averaged = false;
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  bool overwrite = false;
};
Result<ExportedNetwork> export_model(FileSystem& fs, const HfModelExport& request,
                                     const std::string& output_directory);
// Whether the state has a moving average of every parameter.
bool has_averages(const TrainState& state);

}  // namespace headwater
