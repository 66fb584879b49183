#include "records/document_pool.h"

#include <algorithm>
#include <utility>

namespace headwater {

std::span<const int32_t> TokenizedDocument::range(size_t first, size_t last) const {
  const size_t begin = begin_of(first);
  return std::span(ids).subspan(begin, begin_of(last) - begin);
}

void DocumentPool::next_round() {
  const bool had_documents = std::ranges::any_of(
      present_, [](const std::vector<TokenizedDocument>& lane) { return !lane.empty(); });
  if (had_documents) last_ = std::move(present_);
  present_.clear();
  all_.clear();
  for (const auto& lane : last_)
    for (const TokenizedDocument& document : lane) all_.push_back(&document);
}

void DocumentPool::add(std::vector<TokenizedDocument> documents) {
  present_.push_back(std::move(documents));
  for (const TokenizedDocument& document : present_.back()) all_.push_back(&document);
}

const TokenizedDocument* DocumentPool::other(const TokenizedDocument& document,
                                             RandomStream& random) const {
  if (all_.empty()) return nullptr;
  const auto is_other = [&](const TokenizedDocument* candidate) {
    return candidate->file != document.file || candidate->number != document.number;
  };
  constexpr int kTries = 10;
  size_t at = 0;
  for (int i = 0; i < kTries; ++i) {
    at = random.below(all_.size());
    if (is_other(all_[at])) return all_[at];
  }
  // Few others: the next one from here on.
  std::vector<const TokenizedDocument*>::const_iterator from =
      all_.begin() + static_cast<std::ptrdiff_t>(at);
  auto found = std::find_if(from, all_.end(), is_other);
  if (found == all_.end()) found = std::find_if(all_.begin(), from, is_other);
  return found == from || found == all_.end() ? nullptr : *found;
}

}  // namespace headwater
