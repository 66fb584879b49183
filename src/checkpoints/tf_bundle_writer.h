// Writes TensorFlow checkpoints as tf.train.Saver does: one data file, one index, the same bytes
// for tensors in the order of their names. One tensor at a time, so that nothing but the index is
// in memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/error.h"
#include "checkpoints/element_type.h"
#include "io/file.h"

namespace headwater {

class TfBundleWriter {
 public:
  // Makes `<prefix>.data-00000-of-00001` and, at last, `<prefix>.index`. `fs` must outlive this.
  static Result<TfBundleWriter> create(FileSystem& fs, const std::string& prefix);

  // `bytes` are row-major and little-endian; texts in the form that the format stores. TensorFlow
  // itself adds tensors by rising name; any order can be read.
  Result<> add(const std::string& name, ElementType type, std::span<const int64_t> shape,
               std::span<const uint8_t> bytes);

  // Both files appear under their names, the index last. A crash between the two leaves the new
  // data beside the old index, which its checksums tell.
  Result<> commit();

 private:
  TfBundleWriter(FileSystem& fs, std::string prefix, AtomicFile data)
      : fs_(&fs), prefix_(std::move(prefix)), data_(std::move(data)) {}

  FileSystem* fs_;
  std::string prefix_;
  AtomicFile data_;
  int64_t offset_ = 0;
  std::map<std::string, std::string> entries_;  // encoded, by name
};

// The file `checkpoint` beside it, which names it as the latest.
Result<> write_tf_state(FileSystem& fs, const std::string& prefix);

}  // namespace headwater
