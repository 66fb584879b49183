// Unicode normal forms of whole texts, and the shortening of jamo runs: what may be done to a text
// before it is tokenised, only when asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/offset_map.h"

namespace headwater {

enum class NormalForm : uint8_t {
  kNone,
  kNfc,
  // Compatibility jamo stay letters of their own (plain NFKC would make conjoining ones of them,
  // which no vocabulary holds), half-width jamo become compatibility jamo.
  kNfkc,
};

// Valid UTF-8 in, valid UTF-8 out. True when the form leaves the text as it is.
bool is_normal(std::string_view text, NormalForm form);

// Changes are noted in `map` when it is given.
std::string to_normal_form(std::string_view text, NormalForm form, OffsetMap* map = nullptr);

// Cuts every run of one compatibility jamo (U+3131 to U+3163, as in laughter) to `limit` > 0
// letters. Syllables before the run stay whole.
std::string shorten_jamo_runs(std::string_view text, int64_t limit, OffsetMap* map = nullptr);

}  // namespace headwater
