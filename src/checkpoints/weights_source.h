// Weights of any format behind one interface: what is in there, and the bytes of one tensor at a
// time, in any order. Local files are mapped: opening reads the index alone, and a tensor that the
// file holds in one piece is borrowed, not copied.
//
// Names are the file's own. What they mean to a model is models/name_rules.h; writing is in
// safetensors.h, native.h, tf_bundle_writer.h and torch_writer.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "checkpoints/element_type.h"
#include "io/file.h"

namespace headwater {

enum class WeightRole : uint8_t {
  kParameter,
  kSlot,         // of an optimizer: adam_m, adam_v, ...
  kBookkeeping,  // global_step, object graph, counters
};

struct WeightEntry {
  std::string name;
  ElementType type = ElementType::kF32;
  Shape shape;
  int64_t bytes = 0;    // in memory; of texts: in the file
  std::string tied_to;  // an earlier entry that is the same tensor; else empty
  // TensorFlow 2 names by the path to an object; the variable's own name, where the file has it.
  std::string variable_name;
  WeightRole role = WeightRole::kParameter;

  std::optional<DType> dtype() const { return graph_dtype(type); }
  int64_t elements() const { return element_count(shape); }
};

// The bytes of one tensor, row-major and little-endian: borrowed from the source, which must
// outlive them, or their own.
class WeightBytes {
 public:
  explicit WeightBytes(std::span<const uint8_t> borrowed) : bytes_(borrowed) {}
  explicit WeightBytes(AlignedBuffer owned)
      : owned_(std::move(owned)), bytes_(owned_.data(), static_cast<size_t>(owned_.size())) {}
  WeightBytes(WeightBytes&&) noexcept = default;
  WeightBytes& operator=(WeightBytes&&) noexcept = default;
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  AlignedBuffer owned_;
  std::span<const uint8_t> bytes_;
};

// What a source says of itself.
struct WeightsIndex {
  std::string format;  // for people: "safetensors", "TensorFlow checkpoint", ...
  std::string path;    // what is read in the end, where a directory was named
  std::vector<WeightEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;  // what else the file says
  std::vector<std::string> notes;                             // warnings for the person who asks
};

// May be shared by threads.
class WeightsSource {
 public:
  virtual ~WeightsSource() = default;
  WeightsSource(const WeightsSource&) = delete;
  WeightsSource& operator=(const WeightsSource&) = delete;

  const std::string& format() const { return index_.format; }
  const std::string& path() const { return index_.path; }
  const std::vector<WeightEntry>& entries() const { return index_.entries; }
  const std::vector<std::string>& notes() const { return index_.notes; }
  const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return index_.metadata;
  }
  // By name, or by the variable's own name.
  std::optional<size_t> find(std::string_view name) const;

  // Checks what the format can check (lengths always, checksums where there are some). Errors name
  // the file and the tensor.
  Result<WeightBytes> read_bytes(size_t index) const;
  // The same as a tensor; an element type that no graph has is an error.
  Result<Tensor> read(size_t index) const;

  // For those who open sources: what they learnt on the way.
  void add_note(std::string note) { index_.notes.push_back(std::move(note)); }

 protected:
  // Sets the roles of the entries; a name twice is the opener's to refuse.
  explicit WeightsSource(WeightsIndex index);

 private:
  virtual Result<WeightBytes> load(size_t index) const = 0;

  WeightsIndex index_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

// Finds out what `path` is by looking inside, never by its name alone, and opens it: a file, a TF
// prefix ("model.ckpt-100"), or a directory (Hugging Face, a native checkpoint or run, TensorFlow).
Result<std::unique_ptr<WeightsSource>> open_weights(FileSystem& fs, const std::string& path);

// A state dict of optimizer slots under any dialect's naming; `has` tells which names exist.
WeightRole weight_role(std::string_view name,
                       const std::map<std::string, size_t, std::less<>>& names);

}  // namespace headwater
