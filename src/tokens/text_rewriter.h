// What the options normalize and max_jamo_run make of a text before it is tokenised, and the way
// back to the bytes it was made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/normal_form.h"
#include "text/offset_map.h"

namespace headwater {

struct RewrittenText {
  std::string text;
  OffsetMap jamo, form;
  ByteRange original(ByteRange range) const { return jamo.original(form.original(range)); }
};

struct TextRewriter {
  NormalForm form = NormalForm::kNone;
  int64_t max_jamo_run = 0;  // 0: no limit

  bool does_nothing() const { return form == NormalForm::kNone && max_jamo_run == 0; }
  // True when it is seen without rewriting that the text stays as it is.
  bool keeps(std::string_view text) const { return max_jamo_run == 0 && is_normal(text, form); }

  RewrittenText rewrite(std::string_view text) const {
    RewrittenText out;
    out.text =
        max_jamo_run > 0 ? shorten_jamo_runs(text, max_jamo_run, &out.jamo) : std::string(text);
    if (!is_normal(out.text, form)) out.text = to_normal_form(out.text, form, &out.form);
    return out;
  }
};

}  // namespace headwater
