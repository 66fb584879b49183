// The operator table, built from ops.def.
#pragma once

#include <span>
#include <string_view>

#include "graph/op.h"

namespace headwater {

namespace op {
#define HW_OP(name) extern const Op name;
#include "ops/ops.def"
#undef HW_OP
}  // namespace op

const Op* find_op(std::string_view name);  // null when unknown
std::span<const Op* const> all_ops();

}  // namespace headwater
