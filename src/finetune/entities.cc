#include "finetune/entities.h"

#include <algorithm>

namespace headwater {
namespace {

struct Tag {
  char prefix = 'O';
  std::string_view type;
};

bool is_prefix(std::string_view text) {
  return text.size() == 1 && std::string_view("BIES").find(text[0]) != std::string_view::npos;
}

// A tag of neither form is an entity by itself, as seqeval has it: its first letter is no prefix
// that goes on.
Tag parse(std::string_view text) {
  if (text == "O" || text.empty()) return {};
  const size_t first = text.find('-'), last = text.rfind('-');
  if (first != std::string_view::npos && is_prefix(text.substr(0, first)))
    return {text[0], text.substr(first + 1)};
  if (last != std::string_view::npos && is_prefix(text.substr(last + 1)))
    return {text.back(), text.substr(0, last)};
  if (is_prefix(text)) return {text[0], "_"};
  return {'I', text};
}

bool ends(const Tag& before, const Tag& tag) {
  if (before.prefix == 'O') return false;
  if (before.prefix == 'E' || before.prefix == 'S') return true;
  return tag.prefix == 'O' || tag.prefix == 'B' || tag.prefix == 'S' || before.type != tag.type;
}

bool begins(const Tag& before, const Tag& tag) {
  if (tag.prefix == 'O') return false;
  if (tag.prefix == 'B' || tag.prefix == 'S') return true;
  return before.prefix == 'O' || before.prefix == 'E' || before.prefix == 'S' ||
         before.type != tag.type;
}

}  // namespace

std::vector<Entity> entities_of(std::span<const std::string_view> tags) {
  std::vector<Entity> found;
  Tag before;
  int64_t begin = 0;
  for (size_t i = 0; i <= tags.size(); ++i) {
    const Tag tag = i < tags.size() ? parse(tags[i]) : Tag{};
    if (ends(before, tag)) found.push_back({before.type, begin, static_cast<int64_t>(i)});
    if (begins(before, tag)) begin = static_cast<int64_t>(i);
    before = tag;
  }
  return found;
}

Counts& EntityCounts::of(std::string_view type) {
  const auto place = std::ranges::lower_bound(types_, type);
  const auto index = place - types_.begin();
  if (place == types_.end() || *place != type) {
    types_.insert(place, std::string(type));
    counts_.insert(counts_.begin() + index, Counts());
  }
  return counts_[static_cast<size_t>(index)];
}

void EntityCounts::add(std::span<const std::string_view> truth,
                       std::span<const std::string_view> predicted) {
  for (size_t i = 0; i < truth.size(); ++i) right_.add(truth[i] == predicted[i] ? 1 : 0);
  const std::vector<Entity> is = entities_of(truth), said = entities_of(predicted);
  for (const Entity& entity : is) {
    if (std::ranges::find(said, entity) != said.end()) ++of(entity.type).true_positives;
    else ++of(entity.type).false_negatives;
  }
  for (const Entity& entity : said) {
    if (std::ranges::find(is, entity) == is.end()) ++of(entity.type).false_positives;
  }
}

MetricValues EntityCounts::values() const {
  MetricValues values = {{"accuracy", right_.value()}};
  add_averages(counts_, values);
  return values;
}

}  // namespace headwater
