#include "records/electra_examples.h"

#include <array>

namespace headwater {

void ElectraExamples::start_file(int64_t number) {
  builder_.emplace(max_seq_length_, specials_.cls, specials_.sep,
                   threefry_draws(key_.fold_in(static_cast<uint32_t>(number))));
}

void ElectraExamples::add_text(std::span<const int32_t> ids, ExampleOutput& out) {
  if (builder_->add_sentence(ids, example_)) add_example(out);
}

void ElectraExamples::end_document(ExampleOutput& out) {
  if (builder_->end_document(example_)) add_example(out);
}

void ElectraExamples::add_example(ExampleOutput& out) {
  lists_.assign(example_.input_ids, example_.first_segment, max_seq_length_, specials_.pad);
  const std::array<IntFeature, 3> features = {{{"input_ids", lists_.input_ids},
                                               {"input_mask", lists_.input_mask},
                                               {"segment_ids", lists_.segment_ids}}};
  out.add(features);
  const auto used = static_cast<int64_t>(example_.input_ids.size());
  const int64_t specials = example_.first_segment == used ? 2 : 3;
  out.counts.lost_tokens += example_.lost_tokens;
  out.counts.kept_tokens += used - specials;
  out.counts.special_tokens += 2;  // a second [SEP] hardly changes a fill rate
}

}  // namespace headwater
