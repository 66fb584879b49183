// Shared by the kernel tests: reproducible inputs, a workspace that notices overruns, and the loop
// over instruction sets and thread counts that every kernel is put through.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/threads.h"
#include "base/threefry.h"
#include "kernels/isa.h"

namespace headwater::kernels {

using Floats = std::vector<float>;

// n values uniform in [low, high), the same for the same seed.
inline Floats random_floats(int64_t n, uint64_t seed, float low = -1.0f, float high = 1.0f) {
  RandomStream stream(Key::from_seed(seed));
  Floats x(static_cast<size_t>(n));
  for (auto& value : x) value = low + (high - low) * stream.uniform();
  return x;
}

inline std::vector<int32_t> random_ints(int64_t n, uint64_t seed, int32_t bound) {
  RandomStream stream(Key::from_seed(seed));
  std::vector<int32_t> x(static_cast<size_t>(n));
  for (auto& value : x) value = static_cast<int32_t>(stream.below(static_cast<uint64_t>(bound)));
  return x;
}

// A workspace of exactly the promised size, filled with NaN, with a guard behind it.
class TestWorkspace {
 public:
  explicit TestWorkspace(int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)), memory_(bytes_ + kGuard + 64, std::byte{0xFF}) {}
  ~TestWorkspace() {
    for (size_t i = 0; i < kGuard; ++i)
      if (start()[bytes_ + i] != std::byte{0xFF}) {
        ADD_FAILURE() << "workspace of " << bytes_ << " bytes overrun at " << i;
        return;
      }
  }
  TestWorkspace(const TestWorkspace&) = delete;
  TestWorkspace& operator=(const TestWorkspace&) = delete;
  void* data() { return start(); }

 private:
  static constexpr size_t kGuard = 256;
  std::byte* start() {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64;
  }
  size_t bytes_;
  std::vector<std::byte> memory_;
};

// Runs `kernel` with every instruction set of this machine and on 1, 2 and 3 threads: outputs must
// have the same bits on any number of threads, and are given to `check` once per instruction set.
inline void on_every_isa(const std::function<Floats()>& kernel,
                         const std::function<void(const Floats&)>& check) {
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    set_max_isa(isa);
    set_num_threads(1);
    const Floats one = kernel();
    check(one);
    for (const int threads : {2, 3}) {
      set_num_threads(threads);
      const Floats many = kernel();
      ASSERT_EQ(one.size(), many.size());
      ASSERT_TRUE(one.empty() ||
                  std::memcmp(one.data(), many.data(), one.size() * sizeof(float)) == 0)
          << "other bits on " << threads << " threads";
    }
  }
  set_max_isa(Isa::kAvx512);
  set_num_threads(0);
}

// |actual - expected| <= tolerance * max(1, |expected|) everywhere.
template <class Expected>
void expect_near(const Floats& actual, const std::vector<Expected>& expected, double tolerance,
                 const char* what = "") {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double e = static_cast<double>(expected[i]);
    ASSERT_LE(std::abs(double{actual[i]} - e), tolerance * std::max(1.0, std::abs(e)))
        << what << " at " << i << ": " << actual[i] << " for " << e;
  }
}

// The part [begin, begin + n) of x.
inline Floats slice(const Floats& x, int64_t begin, int64_t n) {
  return Floats(x.begin() + begin, x.begin() + begin + n);
}

inline void append(Floats& to, const Floats& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// d f / d x[i] by central differences, for checks of backward kernels: f in double precision.
template <class F>
std::vector<double> numeric_gradient(const F& f, Floats x, double step = 1e-3) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float old = x[i];
    const float up = old + static_cast<float>(step), down = old - static_cast<float>(step);
    x[i] = up;
    const double above = f(x);
    x[i] = down;
    const double below = f(x);
    x[i] = old;
    gradient[i] = (above - below) / (double{up} - double{down});
  }
  return gradient;
}

}  // namespace headwater::kernels
