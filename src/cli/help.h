// Help texts, made from the verbs and their described options alone.
#pragma once

#include <span>
#include <string>

#include "cli/verb.h"

namespace headwater {

// What `headwater help` prints: the verbs under their headings and a quick start.
std::string overview_text(std::span<const Verb> verbs, int64_t width);
// What `headwater help VERB` prints.
std::string verb_help_text(const Verb& verb, int64_t width);
// Columns to fill: the terminal's, between 60 and 100; 80 where there is none.
int64_t help_width();

}  // namespace headwater
