// Dropout by counter-based bits: whether an element is dropped is a pure function of (key, index),
// so the backward pass regenerates the mask and nothing is stored. The rule is jax.random.bernoulli
// on the bits of base/threefry.h: element i is kept iff uniform(bits(offset + i)) < 1 - rate.
#pragma once

#include <cstdint>

#include "base/threefry.h"

namespace headwater::kernels {

struct Dropout {
  Key key;
  float rate = 0.0f;    // [0, 1); 0 switches dropout off
  uint64_t offset = 0;  // index of the first element: where this replica's rows begin

  float keep_prob() const { return 1.0f - rate; }
  bool active() const { return rate > 0.0f; }
};

// y[i] = x[i] / keep_prob where element i is kept, else 0. x may be y. The backward pass is the
// same call on the gradient.
void dropout(const Dropout& dropout, const float* x, float* y, int64_t n);

}  // namespace headwater::kernels
