#include "records/raw_examples.h"

#include <algorithm>
#include <array>

namespace headwater {

void RawOptions::describe(Fields& f) {
  f.group("Examples of --task raw");
  f("add_special_tokens", add_special_tokens,
    "put [CLS] and [SEP] around every text; byte-level BPE puts nothing around it");
  f("label", label,
    "field of .jsonl, or column of .tsv, that holds the class of a record, a whole number from 0: "
    "becomes the feature label")
      .value_name("NAME|N");
}

// A long text comes in parts.
void RawExamples::add_text(std::span<const int32_t> ids, ExampleOutput&) {
  if (ids_.empty() && specials_) ids_.push_back(specials_->cls);
  const size_t limit = max_seq_length_ - (specials_ ? 1 : 0);
  const auto kept = ids.first(std::min(ids.size(), limit - std::min(limit, ids_.size())));
  ids_.insert(ids_.end(), kept.begin(), kept.end());
  cut_ += static_cast<int64_t>(ids.size() - kept.size());
}

void RawExamples::end_document(ExampleOutput& out) {
  const int64_t specials = specials_ ? 2 : 0;
  if (specials_) ids_.push_back(specials_->sep);
  if (static_cast<int64_t>(ids_.size()) > specials) {
    const int32_t label = label_.value_or(0);
    const std::array<IntFeature, 2> features = {{{"input_ids", ids_}, {"label", {&label, 1}}}};
    out.add(std::span(features).first(label_ ? 2 : 1));
    out.counts.kept_tokens += static_cast<int64_t>(ids_.size()) - specials;
    out.counts.special_tokens += specials;
    out.counts.lost_tokens += cut_;
    out.counts.cut_examples += cut_ > 0 ? 1 : 0;
  }
  ids_.clear();
  label_.reset();
  cut_ = 0;
}

}  // namespace headwater
