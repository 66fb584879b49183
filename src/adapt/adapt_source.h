// The model that is adapted, as the stages need it: something to continue, something to fine-tune,
// its tokenizer.
#pragma once

#include <string>

#include "io/file.h"

namespace headwater {

struct AdaptSource {
  std::string checkpoint;  // for --init-checkpoint: as it was given
  bool is_run = false;     // a run of ours: is exported first
  std::string model;       // folder for fine-tuning; empty where is_run
  std::string digest;      // of the weights

  // An error where there is no model, or one that must be converted first.
  static Result<AdaptSource> find(FileSystem& fs, const std::string& path);
};

// The vocabulary in a model's folder. An error where there is none.
Result<std::string> vocabulary_of(FileSystem& fs, const std::string& model);

// The folder for fine-tuning in an export of ours: discriminator/ of a pair.
std::string network_to_tune(FileSystem& fs, const std::string& exported);

}  // namespace headwater
