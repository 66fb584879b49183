// Sizes that packed operands and workspaces are computed with: the same for every instruction set,
// so that a workspace planned once fits all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"

namespace headwater::kernels {

constexpr int64_t kMaxSliver = 32;    // columns of the widest sliver (AVX-512)
constexpr int64_t kMaxTileRows = 12;  // rows of the tallest tile
constexpr int64_t kMaxDepth = 256;    // k of one pass of the micro-kernel: a sliver stays in L1

constexpr int64_t kCacheLine = 64;

constexpr int64_t floats_to_bytes(int64_t n) {
  return round_up(n * static_cast<int64_t>(sizeof(float)), kCacheLine);
}

// Cuts a caller's workspace (64-byte aligned) into arrays, each on cache lines of its own. On a
// null workspace it only measures.
class Workspace {
 public:
  explicit Workspace(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  template <class T>
  T* take(int64_t n) {
    std::byte* const array = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += round_up(n * static_cast<int64_t>(sizeof(T)), kCacheLine);
    return reinterpret_cast<T*>(array);
  }
  int64_t used() const { return used_; }

 private:
  std::byte* memory_;
  int64_t used_ = 0;
};

}  // namespace headwater::kernels
