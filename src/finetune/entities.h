// Entities in a sequence of tags, and their F1: what seqeval gives in its default mode.
//
// Tags are O, or a prefix B, I, E or S and a type with '-' between them, on either side: "B-PER" or
// "PER-B" (Naver's). A run of I- without a B- before it is an entity all the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "finetune/metrics.h"

namespace headwater {

struct Entity {
  std::string_view type;       // of the tags that were given
  int64_t begin = 0, end = 0;  // tags [begin, end)
  friend bool operator==(const Entity&, const Entity&) = default;
};
std::vector<Entity> entities_of(std::span<const std::string_view> tags);

// Counts of entities by type, over any number of sequences. An entity is right where type, begin
// and end are.
class EntityCounts {
 public:
  void add(std::span<const std::string_view> truth, std::span<const std::string_view> predicted);
  const std::vector<std::string>& types() const { return types_; }  // sorted
  const std::vector<Counts>& counts() const { return counts_; }
  // accuracy of tags, then the averages over types, as metrics.h names them.
  MetricValues values() const;

 private:
  Counts& of(std::string_view type);
  std::vector<std::string> types_;
  std::vector<Counts> counts_;
  WeightedMean right_;
};

}  // namespace headwater
