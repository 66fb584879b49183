#include "ops/registry.h"

#include <array>

namespace headwater {
namespace {
constexpr std::array kOps = {
#define HW_OP(name) &op::name,
#include "ops/ops.def"
#undef HW_OP
};
}  // namespace

std::span<const Op* const> all_ops() { return kOps; }

const Op* find_op(std::string_view name) {
  for (const Op* op : kOps) {
    if (op->name == name) return op;
  }
  return nullptr;
}

}  // namespace headwater
