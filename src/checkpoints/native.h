// Native checkpoints: a directory `checkpoint-<step>` in the directory of a run, holding
// state.safetensors and checkpoint.json (docs/formats/native-checkpoint.md).
//
// A checkpoint is written beside its place and renamed into it when every byte is on the disk: a
// crash at any moment leaves the old or the new one. Directories and files that this program did
// not write are never touched. Whether a checkpoint fits a model is checkpoints/fit.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "state/train_state.h"

namespace headwater {

// In the directory of a run that stops when nothing improves: the folder of its best checkpoint.
inline constexpr std::string_view kBestDirectory = "best";

struct CheckpointPlace {
  std::string path;
  int64_t step = 0;
};

// Checkpoints of a run, by rising step. A directory without checkpoint.json is none.
Result<std::vector<CheckpointPlace>> list_checkpoints(FileSystem& fs,
                                                      const std::string& run_directory);
// The one with the highest step; kNotFound when there is none.
Result<CheckpointPlace> latest_checkpoint(FileSystem& fs, const std::string& run_directory);
// `path` itself when it is a checkpoint, else the latest of the run in `path`.
Result<std::string> find_checkpoint(FileSystem& fs, const std::string& path);

// Writes `checkpoint-<state.step>` and then removes the oldest beyond `keep` (0 keeps all); also
// what earlier crashes left behind. Returns the path. After an error the earlier checkpoints are as
// they were. Failing to remove an old one is a warning: the new one is safe by then.
Result<std::string> save_checkpoint(FileSystem& fs, const std::string& run_directory,
                                    const TrainState& state, int64_t keep);

// What checkpoint.json says.
struct CheckpointManifest {
  int64_t step = 0;
  int64_t bytes = 0;  // of state.safetensors
  uint32_t crc = 0;   // CRC-32C of it
  std::map<std::string, std::string> aliases;
  std::string meta;     // JSON object
  std::string version;  // of the program that wrote it
};
Result<CheckpointManifest> read_checkpoint_manifest(FileSystem& fs, const std::string& path);

enum class LoadSlots { kYes, kNo };
// Reads and checks a whole checkpoint. A damaged one is kDataLoss, with the previous checkpoint of
// the run, if any, in the hint. Without slots, only parameters take memory.
Result<TrainState> load_checkpoint(FileSystem& fs, const std::string& path,
                                   LoadSlots slots = LoadSlots::kYes);

}  // namespace headwater
