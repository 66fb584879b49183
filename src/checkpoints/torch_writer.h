// Writes pytorch_model.bin in the zip form, so that torch.load(weights_only=True) reads it, mapped
// or not. One tensor at a time: the pickle that names them goes last. Under 4 GiB.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "checkpoints/element_type.h"
#include "io/file.h"

namespace headwater {

class TorchWriter {
 public:
  // The file appears under its name on commit(). `fs` must outlive this.
  static Result<TorchWriter> create(FileSystem& fs, const std::string& path);

  // `bytes` are row-major and little-endian.
  Result<> add(const std::string& name, ElementType type, const Shape& shape,
               std::span<const uint8_t> bytes);
  // Another name of a tensor that was added: stored once, shared after loading.
  Result<> add_tied(const std::string& name, const std::string& of);
  Result<> commit();

 private:
  struct Entry {
    std::string name;
    uint32_t crc = 0, size = 0, offset = 0;
  };
  struct Written {
    std::string name;
    ElementType type = ElementType::kF32;
    Shape shape;
    int64_t storage = 0;
  };

  explicit TorchWriter(AtomicFile file) : file_(std::move(file)) {}
  Result<> write_entry(const std::string& name, std::span<const uint8_t> bytes);
  Result<> remember(Written written);
  std::string pickle() const;
  std::string directory() const;

  AtomicFile file_;
  int64_t offset_ = 0, storages_ = 0;
  std::vector<Entry> entries_;
  std::vector<Written> written_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace headwater
