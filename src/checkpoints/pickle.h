// Python pickles, as far as torch.save of a state dict needs them. Nothing is ever run: a pickle
// names functions to call, and the few that rebuild tensors are known here by name; any other is an
// error that says which one was asked for (docs/formats/pytorch-bin.md).
//
// The result is data: values in an arena, which refer to each other by number, so that a pickle
// that refers to itself harms nobody. Which bytes a tensor has is torch_source.cc.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "checkpoints/byte_cursor.h"
#include "checkpoints/element_type.h"

namespace headwater {

using PickleId = uint32_t;

struct PickleNone {};
struct PickleSequence {  // list, tuple, set
  std::vector<PickleId> items;
};
struct PickleDict {
  std::vector<std::pair<PickleId, PickleId>> items;  // in order of insertion
};
// A name of Python's that the pickle may use.
struct PickleGlobal {
  enum class Kind {
    kOrderedDict,
    kSet,
    kRebuildTensor,    // (storage, offset, shape, strides, ...)
    kRebuildTensorV3,  // (storage, offset, shape, strides, requires_grad, hooks, dtype, ...)
    kRebuildParameter,
    kIdentity,  // torch.Size: means its argument
    kStorage,   // torch.FloatStorage and its like
    kDType,     // torch.float32 and its like
  };
  Kind kind = Kind::kOrderedDict;
  ElementType type = ElementType::kU8;  // of storages and dtypes; bytes for an untyped storage
};
// Bytes that are outside the pickle.
struct PickleStorage {
  std::string key;
  ElementType type = ElementType::kU8;
  int64_t elements = 0;
  int64_t first = 0;  // element of the storage `key` where this one begins (old views)
};
struct PickleTensor {
  PickleStorage storage;
  ElementType type = ElementType::kF32;
  int64_t offset = 0;  // in elements
  Shape shape;
  std::vector<int64_t> strides;  // in elements
};

using PickleValue = std::variant<PickleNone, bool, int64_t, double, std::string, PickleSequence,
                                 PickleDict, PickleGlobal, PickleStorage, PickleTensor>;

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;

  const PickleValue& at(PickleId id) const { return values[id]; }
  template <class T>
  const T* get(PickleId id) const {
    return std::get_if<T>(&values[id]);
  }
};

// Reads one pickle and leaves `in` behind it. Errors name the byte, counted from the start of the
// bytes under `in`.
Result<Pickle> read_pickle(ByteCursor& in);

}  // namespace headwater
