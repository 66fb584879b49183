// One opener per format behind open_weights(), which decides among them. Each checks all that can
// be checked without reading tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "checkpoints/weights_source.h"
#include "io/file.h"

namespace headwater {

using OpenedWeights = Result<std::unique_ptr<WeightsSource>>;

OpenedWeights open_safetensors_weights(FileSystem& fs, const std::string& path);
// A directory `checkpoint-<step>` of ours. Its one checksum is checked when the first tensor is
// read.
OpenedWeights open_native_weights(FileSystem& fs, const std::string& directory);
// `model.safetensors.index.json`, `pytorch_model.bin.index.json`: files by tensor name.
OpenedWeights open_sharded_weights(FileSystem& fs, const std::string& index_path);
// From the first bytes: the zip form, or a pickle.
bool is_torch_file(std::span<const uint8_t> file);
// torch.save of a state dict, alone or inside a training checkpoint; both forms of the file.
OpenedWeights open_torch_weights(FileSystem& fs, const std::string& path);
// tf_model.h5 of Keras.
OpenedWeights open_keras_weights(FileSystem& fs, const std::string& path);

}  // namespace headwater
