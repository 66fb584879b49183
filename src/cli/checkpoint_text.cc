#include "cli/checkpoint_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cli/table.h"

namespace headwater {
namespace {

// One pattern against one name; a star may give back what it took.
bool matches(std::string_view name, std::string_view pattern) {
  size_t n = 0, p = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n, ++p;
    } else if (star != std::string_view::npos) {
      p = star + 1, n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string parameter_text(int64_t count) {
  if (count < 1'000'000) return grouped(count);
  return fmt::format("{:.1f}M", static_cast<double>(count) / 1e6);
}

// "adam_m" of "dense/kernel/adam_m" and "dense.weight#adam_m".
std::string slot_kind(std::string_view name) {
  const size_t mark = name.find_last_of("#/");
  const std::string_view kind = mark == std::string_view::npos ? name : name.substr(mark + 1);
  return kind == "VARIABLE_VALUE" ? "variables" : std::string(kind);
}

}  // namespace

Result<std::unique_ptr<WeightsSource>> open_weights_with_notes(const std::string& path) {
  auto source = open_weights(local_files(), path);
  if (source) {
    for (const std::string& note : (*source)->notes()) log_warning("{}", note);
  }
  return source;
}

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return matches(name, pattern); });
}

std::string summary_line(const WeightsSource& source) {
  int64_t tensors = 0, parameters = 0, bytes = 0, tied = 0;
  for (const WeightEntry& entry : source.entries()) {
    if (entry.role == WeightRole::kSlot) continue;
    ++tensors;
    if (!entry.tied_to.empty()) {
      ++tied;
      continue;
    }
    bytes += entry.bytes;
    if (entry.role == WeightRole::kParameter) parameters += entry.elements();
  }
  return fmt::format("{}: {}, {} tensors{}, {} parameters, {}", source.path(), source.format(),
                     grouped(tensors), tied > 0 ? fmt::format(" ({} tied)", tied) : "",
                     parameter_text(parameters), byte_text(bytes));
}

std::string slot_line(const WeightsSource& source) {
  std::map<std::string, int64_t> kinds;
  int64_t slots = 0, bytes = 0;
  for (const WeightEntry& entry : source.entries()) {
    if (entry.role != WeightRole::kSlot) continue;
    ++slots, ++kinds[slot_kind(entry.name)];
    bytes += entry.bytes;
  }
  if (slots == 0) return "";
  std::string text;
  size_t shown = 0;
  for (const auto& [kind, count] : kinds) {
    if (shown++ == 4) {
      text += ", ...";
      break;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, grouped(count));
  }
  return fmt::format("+ {} optimizer slots ({}), {}", grouped(slots), text, byte_text(bytes));
}

std::string_view role_name(WeightRole role) {
  switch (role) {
    case WeightRole::kSlot: return "slot";
    case WeightRole::kBookkeeping: return "bookkeeping";
    default: return "parameter";
  }
}

Json entry_json(const WeightEntry& entry) {
  Json json;
  json["name"] = entry.name;
  json["dtype"] = element_name(entry.type);
  json["shape"] = entry.shape;
  json["bytes"] = entry.bytes;
  json["role"] = role_name(entry.role);
  if (!entry.tied_to.empty()) json["tied_to"] = entry.tied_to;
  if (!entry.variable_name.empty()) json["variable"] = entry.variable_name;
  return json;
}

}  // namespace headwater
