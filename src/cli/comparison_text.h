// comparison.json as tables and sentences for a terminal.
#pragma once

#include <string>

#include "base/json.h"

namespace headwater {

std::string comparison_text(const Json& comparison);

}  // namespace headwater
