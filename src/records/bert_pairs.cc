#include "records/bert_pairs.h"

#include <algorithm>
#include <utility>

namespace headwater {
namespace {

constexpr int64_t kPairSpecials = 3;  // [CLS], [SEP], [SEP]

// first..last, both ends included.
int64_t draw_between(RandomStream& random, int64_t first, int64_t last) {
  return first + static_cast<int64_t>(random.below(static_cast<uint64_t>(last - first + 1)));
}

}  // namespace

int64_t PairBuilder::draw_target(RandomStream& random) const {
  const int64_t longest = rules_.max_seq_length - kPairSpecials;
  const bool is_short = static_cast<double>(random.uniform()) < rules_.short_seq_prob;
  return is_short ? draw_between(random, 2, longest) : longest;
}

void PairBuilder::make(const TokenizedDocument& document, RandomStream& random, const Emit& emit) {
  const int64_t target = draw_target(random);
  const size_t sentences = document.sentences();
  for (size_t first = 0; first < sentences;) {
    size_t last = first;
    int64_t length = 0;
    while (last < sentences && length < target)
      length += static_cast<int64_t>(document.sentence(last++).size());
    first = make_pair(document, first, last, target, random, emit);
  }
}

size_t PairBuilder::make_pair(const TokenizedDocument& document, size_t first, size_t last,
                              int64_t target, RandomStream& random, const Emit& emit) {
  example_.lost_tokens = 0;
  example_.same_document = false;
  const size_t count = last - first;
  if (count == 1 && rules_.sentence_order) {  // its two halves
    const auto sentence = document.sentence(first);
    const auto half = sentence.size() / 2;
    if (half == 0) return last;
    emit_pair({sentence.first(half)}, {sentence.subspan(half)}, random.uniform() < 0.5F, random,
              emit);
    return last;
  }
  const auto to_a = count == 1 ? 1 : draw_between(random, 1, static_cast<int64_t>(count) - 1);
  const size_t split = first + static_cast<size_t>(to_a);
  const Segment a{document.range(first, split)};
  if (!rules_.sentence_order && (count == 1 || random.uniform() < 0.5F)) {
    const auto room = target - static_cast<int64_t>(a.ids.size());
    emit_pair(a, random_segment(document, room, random), true, random, emit);
    return split;
  }
  const bool swapped = rules_.sentence_order && random.uniform() < 0.5F;
  emit_pair(a, {document.range(split, last)}, swapped, random, emit);
  return last;
}

// Sentences of another document, from a random one on, until they have `target` tokens.
PairBuilder::Segment PairBuilder::random_segment(const TokenizedDocument& document, int64_t target,
                                                 RandomStream& random) {
  const TokenizedDocument* other = pool_.other(document, random);
  example_.same_document = other == nullptr;
  if (other == nullptr) other = &document;
  const size_t first = random.below(other->sentences());
  size_t last = first + 1;
  while (last < other->sentences() &&
         static_cast<int64_t>(other->range(first, last).size()) < target)
    ++last;
  return {other->range(first, last), false};
}

void PairBuilder::truncate(Segment& a, Segment& b, RandomStream& random) {
  const auto limit = static_cast<size_t>(rules_.max_seq_length - kPairSpecials);
  while (a.ids.size() + b.ids.size() > limit) {
    Segment& longer = a.ids.size() > b.ids.size() ? a : b;
    const bool at_front = random.uniform() < 0.5F;
    longer.ids = at_front ? longer.ids.subspan(1) : longer.ids.first(longer.ids.size() - 1);
    if (longer.own) ++example_.lost_tokens;
  }
}

void PairBuilder::emit_pair(Segment a, Segment b, bool label, RandomStream& random,
                            const Emit& emit) {
  if (rules_.sentence_order && label) std::swap(a, b);
  truncate(a, b, random);
  auto& ids = example_.input_ids;
  ids.assign(1, rules_.cls);
  ids.insert(ids.end(), a.ids.begin(), a.ids.end());
  ids.push_back(rules_.sep);
  example_.first_segment = static_cast<int64_t>(ids.size());
  ids.insert(ids.end(), b.ids.begin(), b.ids.end());
  ids.push_back(rules_.sep);
  example_.label = label;
  emit(example_);
}

}  // namespace headwater
