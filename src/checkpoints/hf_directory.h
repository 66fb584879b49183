// One Hugging Face directory: weights, config.json and tokenizer files, in an order that lets
// nobody take an unfinished one for a whole one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoints/safetensors.h"
#include "io/file.h"
#include "models/model.h"

namespace headwater {

struct HfDirectory {
  std::string path;
  std::vector<TensorPlan> tensors;
  std::vector<std::pair<std::string, std::string>> tied;   // further name, name; for the .bin form
  std::vector<std::pair<std::string, std::string>> files;  // name, content; config.json among them
  bool bin = false;  // pytorch_model.bin instead of model.safetensors
  bool overwrite = false;
};

// An error unless the directory is new or empty, or may be overwritten.
Result<> check_output_directory(FileSystem& fs, const std::string& path, bool overwrite);

// config.json goes first where an earlier one is replaced, and comes last: a directory without it
// is seen to be incomplete. `produce` writes the bytes of one tensor.
Result<> write_hf_directory(FileSystem& fs, const HfDirectory& directory,
                            const TensorProducer& produce);

// The model that a config.json describes; `path` is the file or its folder.
Result<Model> read_hf_model(FileSystem& fs, const std::string& path);

}  // namespace headwater
