#include "checkpoints/weights_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "checkpoints/element_values.h"
#include "checkpoints/safetensors.h"

namespace headwater {
namespace {

constexpr size_t kChunk = 2048;  // values decoded at a time
using Chunk = std::array<double, kChunk>;

// Calls `use(values, first)` for the values from element `first` on, chunk by chunk.
template <class Use>
void for_each_chunk(ElementType type, std::span<const uint8_t> bytes, Use use) {
  const auto size = static_cast<size_t>(element_bytes(type));
  const size_t count = bytes.size() / size;
  Chunk chunk;
  for (size_t first = 0; first < count; first += kChunk) {
    const size_t n = std::min(kChunk, count - first);
    const std::span<double> values = std::span<double>(chunk).first(n);
    decode_values(type, bytes.subspan(first * size, n * size), values);
    use(std::span<const double>(values), first);
  }
}

std::vector<int64_t> position_of(int64_t element, const Shape& shape) {
  std::vector<int64_t> position(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    position[d] = element % shape[d];
    element /= shape[d];
  }
  return position;
}

bool same_bytes(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double apart = std::fabs(a - b);
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

// Fills in `difference` from two tensors of one shape.
void compare_values(const WeightEntry& a, std::span<const uint8_t> bytes_a, const WeightEntry& b,
                    std::span<const uint8_t> bytes_b, double tolerance,
                    TensorDifference& difference) {
  int64_t at = 0;
  const auto size_b = static_cast<size_t>(element_bytes(b.type));
  Chunk chunk;
  for_each_chunk(a.type, bytes_a, [&](std::span<const double> values, size_t first) {
    const auto others = std::span<double>(chunk).first(values.size());
    decode_values(b.type, bytes_b.subspan(first * size_b, values.size() * size_b), others);
    for (size_t i = 0; i < values.size(); ++i) {
      const double apart = distance(values[i], others[i]);
      if (!(apart > tolerance)) continue;
      ++difference.differing;
      if (!(apart > difference.largest)) continue;
      difference.largest = apart;
      difference.value_a = values[i], difference.value_b = others[i];
      at = static_cast<int64_t>(first + i);
    }
  });
  if (difference.differing > 0) difference.where = position_of(at, a.shape);
}

Result<> compare_tensors(const WeightsSource& a, size_t index_a, const WeightsSource& b,
                         size_t index_b, double tolerance, WeightsDifference& report) {
  const WeightEntry& entry_a = a.entries()[index_a];
  const WeightEntry& entry_b = b.entries()[index_b];
  const bool numbers = has_values(entry_a.type) && has_values(entry_b.type);
  const bool texts = entry_a.type == ElementType::kString || entry_b.type == ElementType::kString;
  if (entry_a.shape != entry_b.shape || (texts && entry_a.type != entry_b.type)) {
    report.reshaped.push_back({entry_a.name, entry_a, entry_b});
    return {};
  }
  HW_ASSIGN_OR_RETURN(const WeightBytes bytes_a, a.read_bytes(index_a));
  HW_ASSIGN_OR_RETURN(const WeightBytes bytes_b, b.read_bytes(index_b));
  TensorDifference difference{entry_a.name, entry_a.type, entry_b.type, entry_a.elements()};
  if (entry_a.type == entry_b.type && same_bytes(bytes_a.bytes(), bytes_b.bytes())) {
    ++report.equal;
    return {};
  }
  if (numbers) {
    compare_values(entry_a, bytes_a.bytes(), entry_b, bytes_b.bytes(), tolerance, difference);
    if (difference.differing == 0) return ++report.equal, Result<>();
  } else {
    difference.comparable = false;
    difference.differing = difference.elements;
    difference.largest = std::numeric_limits<double>::infinity();
  }
  report.changed.push_back(std::move(difference));
  return {};
}

bool is_tied_to_one_of(const WeightEntry& entry, const WeightsSource& source) {
  return !entry.tied_to.empty() && source.find(entry.tied_to).has_value();
}

Result<std::vector<WeightBytes>> read_all(Sources sources, const std::string& name) {
  std::vector<WeightBytes> all;
  for (const auto& source : sources) {
    HW_ASSIGN_OR_RETURN(WeightBytes bytes, source->read_bytes(*source->find(name)));
    all.push_back(std::move(bytes));
  }
  return all;
}

}  // namespace

ValueStats value_stats(ElementType type, std::span<const uint8_t> bytes) {
  ValueStats stats;
  int64_t finite = 0;
  double squares = 0;  // of distances to the mean
  for_each_chunk(type, bytes, [&](std::span<const double> values, size_t) {
    double sum = 0, norm = 0;
    int64_t counted = 0;
    for (const double value : values) {
      ++stats.count;
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? stats.not_a_number : stats.infinite);
        continue;
      }
      stats.zeros += value == 0 ? 1 : 0;
      stats.minimum = finite + counted == 0 ? value : std::min(stats.minimum, value);
      stats.maximum = finite + counted == 0 ? value : std::max(stats.maximum, value);
      ++counted;
      sum += value;
      norm += value * value;
    }
    if (counted == 0) return;
    const auto n = static_cast<double>(counted), before = static_cast<double>(finite);
    const double mean = sum / n;
    double around = 0;
    for (const double value : values)
      if (std::isfinite(value)) around += (value - mean) * (value - mean);
    // Means and squares of two parts joined (Chan, Golub, LeVeque 1979).
    const double apart = mean - stats.mean;
    stats.mean += apart * n / (before + n);
    squares += around + apart * apart * before * n / (before + n);
    stats.norm += norm;
    finite += counted;
  });
  stats.norm = std::sqrt(stats.norm);
  if (finite > 0) stats.deviation = std::sqrt(squares / static_cast<double>(finite));
  return stats;
}

Result<WeightsDifference> diff_weights(const WeightsSource& a, const WeightsSource& b,
                                       const DiffOptions& options) {
  WeightsDifference report;
  std::set<size_t> used;
  const auto is_left_out = [&](const WeightEntry& entry) {
    return !options.slots && entry.role == WeightRole::kSlot;
  };
  for (size_t i = 0; i < a.entries().size(); ++i) {
    const WeightEntry& entry = a.entries()[i];
    auto found = b.find(entry.name);
    if (!found && !entry.variable_name.empty()) found = b.find(entry.variable_name);
    if (found) used.insert(*found);
    if (is_left_out(entry)) {
      ++report.slots_a;
    } else if (!found && is_tied_to_one_of(entry, b)) {
      ++report.tied_names;
    } else if (!found) {
      report.only_a.push_back(entry);
    } else {
      HW_RETURN_IF_ERROR(compare_tensors(a, i, b, *found, options.tolerance, report));
    }
  }
  for (size_t i = 0; i < b.entries().size(); ++i) {
    const WeightEntry& entry = b.entries()[i];
    if (is_left_out(entry)) ++report.slots_b;
    else if (used.contains(i)) continue;
    else if (is_tied_to_one_of(entry, a)) ++report.tied_names;
    else report.only_b.push_back(entry);
  }
  std::stable_sort(report.changed.begin(), report.changed.end(),
                   [](const auto& x, const auto& y) { return x.largest > y.largest; });
  return report;
}

Result<AveragePlan> plan_average(Sources sources) {
  HW_CHECK(!sources.empty());
  AveragePlan plan;
  const WeightsSource& first = *sources.front();
  const auto is_wanted = [](const WeightEntry& entry) {
    return entry.role == WeightRole::kParameter && entry.tied_to.empty();
  };
  for (const WeightEntry& entry : first.entries()) {
    if (entry.role == WeightRole::kSlot) ++plan.slots_left_out;
    if (!is_wanted(entry)) continue;
    for (const auto& source : sources) {
      const auto found = source->find(entry.name);
      if (!found) {
        return fail(Code::kFailedPrecondition, "'{}' is in {}, but not in {}", entry.name,
                    first.path(), source->path());
      }
      const WeightEntry& other = source->entries()[*found];
      if (other.shape == entry.shape && other.type == entry.type) continue;
      return fail(Code::kFailedPrecondition, "'{}' is {} {} in {}, and {} {} in {}", entry.name,
                  element_name(entry.type), shape_text(entry.shape), first.path(),
                  element_name(other.type), shape_text(other.shape), source->path());
    }
    plan.entries.push_back(entry);
    ++(is_floating(entry.type) ? plan.averaged : plan.taken_from_last);
  }
  for (const auto& source : sources) {
    for (const WeightEntry& entry : source->entries()) {
      if (!is_wanted(entry) || first.find(entry.name)) continue;
      return fail(Code::kFailedPrecondition, "'{}' is in {}, but not in {}", entry.name,
                  source->path(), first.path());
    }
  }
  return plan;
}

Result<WeightBytes> average_tensor(Sources sources, const WeightEntry& entry) {
  if (!is_floating(entry.type)) {
    const WeightsSource& last = *sources.back();
    return last.read_bytes(*last.find(entry.name));
  }
  HW_ASSIGN_OR_RETURN(const auto all, read_all(sources, entry.name));
  AlignedBuffer average(entry.bytes);
  const auto size = static_cast<size_t>(element_bytes(entry.type));
  const auto scale = static_cast<double>(sources.size());
  Chunk other, sum;
  for_each_chunk(
      entry.type, all.front().bytes(), [&](std::span<const double> values, size_t first) {
        std::ranges::copy(values, sum.begin());
        for (size_t s = 1; s < all.size(); ++s) {
          const auto others = std::span<double>(other).first(values.size());
          decode_values(entry.type, all[s].bytes().subspan(first * size, values.size() * size),
                        others);
          for (size_t i = 0; i < others.size(); ++i) sum[i] += others[i];
        }
        for (size_t i = 0; i < values.size(); ++i) sum[i] /= scale;
        encode_values(entry.type, std::span<const double>(sum).first(values.size()),
                      {average.data() + first * size, values.size() * size});
      });
  return WeightBytes(std::move(average));
}

Result<> write_average(FileSystem& fs, Sources sources, const AveragePlan& plan,
                       const std::string& path) {
  std::vector<TensorPlan> tensors;
  for (const WeightEntry& entry : plan.entries)
    tensors.push_back({entry.name, entry.type, entry.shape});
  HW_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(fs, path));
  HW_RETURN_IF_ERROR(write_safetensors(
      file.sink(), std::move(tensors), [&](const TensorPlan& tensor, ByteSink& sink) -> Result<> {
        WeightEntry entry;
        entry.name = tensor.name, entry.type = tensor.type, entry.shape = tensor.shape;
        entry.bytes = element_count(tensor.shape) * element_bytes(tensor.type);
        HW_ASSIGN_OR_RETURN(const WeightBytes bytes, average_tensor(sources, entry));
        return sink.write(bytes.bytes());
      }));
  return file.commit();
}

}  // namespace headwater
