// One fuzzer: libFuzzer's entry for the target HW_FUZZ_TARGET of tests/checkpoints/fuzz_targets.cc.
#include <cstdlib>

#include "fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headwater::FuzzTarget* const target = [] {
    for (const headwater::FuzzTarget& known : headwater::fuzz_targets())
      if (known.name == HW_FUZZ_TARGET) return &known;
    std::abort();
  }();
  target->run({data, size});
  return 0;
}
