// Counter-based random bits: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011). Bits are a pure function of (key, index), equal to jax.random's
// default implementation: fold_in, bits, uniform and bernoulli agree bit for bit
// (tests/base/threefry_test.cc).
//
// A run derives every key as seed -> step -> CRC32C of the site's name, so that adding a site does
// not move others.
#pragma once

#include <cstdint>
#include <string_view>

namespace headwater {

struct Threefry2x32 {
  uint32_t x0, x1;
};

// The block function: 20 rounds on counter (c0, c1) under key (k0, k1).
inline Threefry2x32 threefry2x32(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1) {
  const uint32_t k2 = k0 ^ k1 ^ 0x1BD11BDAu;
  uint32_t x0 = c0 + k0;
  uint32_t x1 = c1 + k1;
  const auto rounds = [&](int r0, int r1, int r2, int r3) {
    for (const int r : {r0, r1, r2, r3}) {
      x0 += x1;
      x1 = (x1 << r) | (x1 >> (32 - r));
      x1 ^= x0;
    }
  };
  rounds(13, 15, 26, 6);
  x0 += k1, x1 += k2 + 1;
  rounds(17, 29, 16, 24);
  x0 += k2, x1 += k0 + 2;
  rounds(13, 15, 26, 6);
  x0 += k0, x1 += k1 + 3;
  rounds(17, 29, 16, 24);
  x0 += k1, x1 += k2 + 4;
  rounds(13, 15, 26, 6);
  x0 += k2, x1 += k0 + 5;
  return {x0, x1};
}

struct Key {
  uint32_t k0 = 0, k1 = 0;

  static Key from_seed(uint64_t seed) {
    return {static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)};
  }

  Key fold_in(uint32_t data) const {
    const auto [x0, x1] = threefry2x32(k0, k1, 0, data);
    return {x0, x1};
  }
  Key fold_in(std::string_view site) const;  // by CRC32C of the name

  // 32 random bits of element `index`.
  uint32_t bits(uint64_t index) const {
    const auto [x0, x1] =
        threefry2x32(k0, k1, static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(index));
    return x0 ^ x1;
  }

  // Uniform in [0, 1): 23 mantissa bits, as jax.random.uniform.
  float uniform(uint64_t index) const;

  // Uniform in [0, bound), bound > 0: 64 bits reduced by a multiplication (bias below 2^-32 for
  // bounds under 2^32).
  uint64_t below(uint64_t index, uint64_t bound) const {
    const auto [x0, x1] =
        threefry2x32(k0, k1, static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(index));
    const uint64_t word = (uint64_t{x0} << 32) | x1;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(word) * bound) >> 64);
  }

  friend bool operator==(const Key&, const Key&) = default;
};

// A key with a running counter, for host code that draws one value after the other.
class RandomStream {
 public:
  explicit RandomStream(Key key) : key_(key) {}
  float uniform() { return key_.uniform(next_++); }
  uint64_t below(uint64_t bound) { return key_.below(next_++, bound); }

 private:
  Key key_;
  uint64_t next_ = 0;
};

}  // namespace headwater
