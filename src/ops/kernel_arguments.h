// How attributes and operands become arguments of the kernels.
#pragma once

#include "graph/op.h"
#include "kernels/dropout.h"

namespace headwater {

// Dropout as attributes "rate" and "site" and key operand `key_operand` say.
inline kernels::Dropout dropout_argument(const KernelContext& c, size_t key_operand) {
  const auto* key = c.in<uint32_t>(key_operand);
  const auto site = static_cast<uint32_t>(c.attrs().get_int("site"));
  return {.key = Key{key[0], key[1]}.fold_in(site),
          .rate = static_cast<float>(c.attrs().get_double("rate"))};
}

}  // namespace headwater
