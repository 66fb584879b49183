// Weights that a new pre-training run starts from: a checkpoint of any format and dialect, as the
// training state of an ELECTRA pair.
//
// Half of the published models come without their generator, some without their discriminator, and
// one may want to start from a BERT. What a source has is put where the pair has it; which network
// is missing is said, and what to do about it is the run's business.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoints/fit.h"
#include "checkpoints/model_weights.h"
#include "io/file.h"
#include "state/train_state.h"
#include "train/pretrain_options.h"

namespace headwater {

struct StartWeights {
  TrainState state;        // names of the pair
  bool has_slots = false;  // every parameter has both moments
  bool generator_missing = false;
  bool other_model = false;  // a BERT, or a generator from which the discriminator starts, too
  std::string origin;        // for people: "ElectraForPreTraining of models/base"
  std::vector<std::string> notes;  // what was put elsewhere than it stood
  // What the source's networks are, where it says so: more than shapes show.
  std::vector<ModelWeights::Network> networks;
};

// `specs` are what the run trains; `one_encoder` when it has a single network. The vocabulary's
// size is what the specs say; whether it is the same vocabulary only our own checkpoints know.
Result<StartWeights> read_start_weights(FileSystem& fs, const std::string& path,
                                        std::span<const TensorSpec> specs, bool one_encoder);

// The generator of another checkpoint, put into `weights`.
Result<> add_generator(FileSystem& fs, const std::string& path, StartWeights& weights);

// Shapes fit whatever the number of attention heads; the outputs do not. An error when a network of
// the source has other heads, another activation or epsilon than the run's.
Result<> check_settings(const StartWeights& start, const ElectraConfigs& configs);

// "loaded 82 tensors; 2 fresh: ...; 3 unused: ...": what became of a start, for the log and the
// run's record.
std::string start_report(const FitReport& fit);

}  // namespace headwater
