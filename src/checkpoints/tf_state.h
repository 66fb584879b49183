// The file `checkpoint` in a directory of TensorFlow checkpoints: which one is the latest. It holds
// paths of the machine that wrote it, so reading it means finding where the files are today.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace headwater {

struct TfCheckpointState {
  std::string latest;            // as written: relative, absolute, or of another machine
  std::vector<std::string> all;  // oldest first
};

// `where` names the file in errors.
Result<TfCheckpointState> parse_tf_state(std::string_view text, std::string_view where);
// What TensorFlow writes for one checkpoint beside it.
std::string format_tf_state(std::string_view base_name);

struct TfPlace {
  std::string prefix;              // of a checkpoint whose index exists
  std::vector<std::string> notes;  // what was not as the file says
};

// The latest checkpoint of a directory. A path that leads nowhere is looked for beside the file;
// without a usable file the highest `-<step>.index` counts. kNotFound when there is no checkpoint.
Result<TfPlace> find_tf_checkpoint(FileSystem& fs, const std::string& directory);

}  // namespace headwater
