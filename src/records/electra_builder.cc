#include "records/electra_builder.h"

#include <algorithm>
#include <memory>

namespace headwater {
namespace {
constexpr double kSingleSegmentShare = 0.1, kShortTargetShare = 0.05;
constexpr int64_t kNoSecondSegment = 100000;  // a first segment never gets this long
constexpr int64_t kShortestTarget = 5;
}  // namespace

ElectraDraws threefry_draws(Key key) {
  auto stream = std::make_shared<RandomStream>(key);
  return {[stream] { return static_cast<double>(stream->uniform()); },
          [stream](int64_t first, int64_t last) {
            return first +
                   static_cast<int64_t>(stream->below(static_cast<uint64_t>(last - first + 1)));
          }};
}

ElectraExampleBuilder::ElectraExampleBuilder(int64_t max_seq_length, int32_t cls, int32_t sep,
                                             ElectraDraws draws)
    : max_length_(max_seq_length),
      target_length_(max_seq_length),
      cls_(cls),
      sep_(sep),
      draws_(std::move(draws)) {}

bool ElectraExampleBuilder::add_sentence(std::span<const int32_t> ids, ElectraExample& out) {
  if (ids.empty()) return false;  // changes neither lengths nor draws, wherever it stands
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  ends_.push_back(tokens_.size());
  if (static_cast<int64_t>(tokens_.size()) < target_length_) return false;
  create_example(out);
  return true;
}

bool ElectraExampleBuilder::end_document(ElectraExample& out) {
  if (tokens_.empty()) return false;
  create_example(out);
  return true;
}

void ElectraExampleBuilder::create_example(ElectraExample& out) {
  // One example in ten has one segment, as most fine-tuning tasks have.
  const int64_t first_target =
      draws_.uniform() < kSingleSegmentShare ? kNoSecondSegment : (target_length_ - 3) / 2;
  first_.clear(), second_.clear();
  size_t begin = 0;
  for (const size_t end : ends_) {
    const auto size = static_cast<int64_t>(end - begin);
    const auto filled = static_cast<int64_t>(first_.size());
    // Half of the time the sentence that crosses the target still goes to the first segment.
    const bool to_first = first_.empty() || filled + size < first_target ||
                          (second_.empty() && filled < first_target && draws_.uniform() < 0.5);
    auto& segment = to_first ? first_ : second_;
    segment.insert(segment.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                   tokens_.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  first_.resize(std::min<size_t>(first_.size(), static_cast<size_t>(max_length_ - 2)));
  const int64_t room = std::max<int64_t>(0, max_length_ - static_cast<int64_t>(first_.size()) - 3);
  second_.resize(std::min<size_t>(second_.size(), static_cast<size_t>(room)));

  out.clear();
  out.lost_tokens = static_cast<int64_t>(tokens_.size() - first_.size() - second_.size());
  out.input_ids.push_back(cls_);
  out.input_ids.insert(out.input_ids.end(), first_.begin(), first_.end());
  out.input_ids.push_back(sep_);
  out.first_segment = static_cast<int64_t>(out.input_ids.size());
  if (!second_.empty()) {
    out.input_ids.insert(out.input_ids.end(), second_.begin(), second_.end());
    out.input_ids.push_back(sep_);
  }
  tokens_.clear(), ends_.clear();
  // One example in twenty is short, so that short inputs are seen too.
  target_length_ = draws_.uniform() < kShortTargetShare
                       ? draws_.integer_between(kShortestTarget, max_length_)
                       : max_length_;
}

}  // namespace headwater
