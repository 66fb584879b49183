// What the fuzzers throw bytes at: every reader of weights and tokenizers, on bytes as they come
// and, where a checksum would stop everything at the door, on bytes under right checksums. The
// programs are made from fuzz/; fuzz_replay_test.cc runs the same functions over the golden files
// and the corpora.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headwater {

struct FuzzTarget {
  std::string_view name;  // also the folder of its corpus
  void (*run)(std::span<const uint8_t> input);
  std::vector<std::string_view> seeds;  // below tests/golden
};

const std::vector<FuzzTarget>& fuzz_targets();

}  // namespace headwater
