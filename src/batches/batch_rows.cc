#include "batches/batch_rows.h"

#include <algorithm>
#include <numeric>

namespace headwater {
namespace {

constexpr int64_t kMostValues = int64_t{1} << 30;  // of one feature of a batch

template <class T>
void copy_values(const std::vector<T>& from, size_t begin, size_t size, std::vector<T>& to,
                 size_t at) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), size,
              to.begin() + static_cast<std::ptrdiff_t>(at));
}

// Values [begin, begin + size) of one record to place `at` of a batch.
Result<> copy_feature(const ParsedFeature& from, size_t begin, size_t size, BatchFeature& to,
                      size_t at) {
  switch (to.type) {
    case FeatureType::kInt64:
      return narrow_to_int32(to.name, std::span(from.ints).subspan(begin, size),
                             std::span(to.ints).subspan(at, size));
    case FeatureType::kFloat: copy_values(from.floats, begin, size, to.floats, at); return {};
    case FeatureType::kBytes:
      for (size_t i = 0; i < size; ++i) to.texts[at + i] = from.bytes[begin + i];
      return {};
    case FeatureType::kNone: break;
  }
  return {};
}

void fill_feature(BatchFeature& feature, size_t values, double padding) {
  if (feature.type == FeatureType::kInt64)
    feature.ints.assign(values, static_cast<int32_t>(padding));
  if (feature.type == FeatureType::kFloat)
    feature.floats.assign(values, static_cast<float>(padding));
  if (feature.type == FeatureType::kBytes) feature.texts.assign(values, {});
}

int64_t longest_of(std::span<const Row> rows, size_t feature) {
  int64_t longest = 0;
  for (const Row& row : rows) longest = std::max(longest, row.features[feature].size());
  return longest;
}

// The rows of one replica, and of them those that hold a record.
std::span<const Row> rows_in(std::span<const Row> rows, RowRange range) {
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t begin = std::min(range.begin, count), end = std::min(range.end, count);
  return rows.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

}  // namespace

Result<> fill_padded(const RowReader& reader, const PadTo& pad_to, std::span<const Row> rows,
                     RowRange range, Batch& batch) {
  const std::span<const Row> own = rows_in(rows, range);
  batch.rows = range.end - range.begin;
  batch.real_rows = static_cast<int64_t>(own.size());
  batch.lengths.assign(static_cast<size_t>(batch.rows), 0);
  for (size_t r = 0; r < own.size(); ++r) {
    batch.lengths[r] = static_cast<int32_t>(own[r].length);
    batch.tokens += own[r].length;
  }
  for (size_t i = 0; i < reader.specs().size(); ++i) {
    const FeatureSpec& spec = reader.specs()[i];
    BatchFeature feature{.name = spec.key, .type = spec.type, .shape = {batch.rows}};
    int64_t width = spec.length;
    if (reader.is_list(i)) {
      HW_ASSIGN_OR_RETURN(width, pad_to.width(longest_of(rows, i)));
      feature.shape.push_back(width);
    } else {
      feature.shape.insert(feature.shape.end(), spec.shape.begin(), spec.shape.end());
    }
    if (width > kMostValues / std::max<int64_t>(batch.rows, 1))
      return fail_hint(Code::kResourceExhausted, "use a smaller batch, or cut the records",
                       "feature '{}': a batch of {} x {} values is too large", spec.key, batch.rows,
                       width);
    fill_feature(feature, static_cast<size_t>(batch.rows * width), reader.fill(i).padding);
    for (size_t r = 0; r < own.size(); ++r) {
      const ParsedFeature& values = own[r].features[i];
      HW_RETURN_IF_ERROR(copy_feature(values, 0, static_cast<size_t>(values.size()), feature,
                                      r * static_cast<size_t>(width)));
    }
    batch.features.push_back(std::move(feature));
  }
  return {};
}

RowPacker::RowPacker(const RowReader& reader, int64_t rows, int64_t length)
    : reader_(&reader), rows_(rows), length_(length) {
  for (const FeatureSpec& spec : reader.specs()) {
    lists_.push_back({.name = spec.key, .type = spec.type});
    own_positions_ = own_positions_ || spec.key == kPositionIds;
  }
  if (!own_positions_) lists_.push_back({.name = std::string(kPositionIds)});
  lists_.push_back({.name = std::string(kDocumentIds)});
}

bool RowPacker::full() const {
  return std::ranges::all_of(used_, [&](int64_t used) { return used == length_; });
}

void RowPacker::start() {
  used_.assign(static_cast<size_t>(rows_), 0);
  row_docs_.assign(static_cast<size_t>(rows_), 0);
  documents_ = 0;
  for (size_t i = 0; i < lists_.size(); ++i)
    fill_feature(lists_[i], static_cast<size_t>(rows_ * length_),
                 i < reader_->specs().size() ? reader_->fill(i).padding : 0);
}

std::optional<int64_t> RowPacker::find_row(int64_t size) const {
  std::optional<int64_t> best;
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t used = used_[static_cast<size_t>(row)];
    if (used + size <= length_ && (!best || used > used_[static_cast<size_t>(*best)])) best = row;
  }
  return best;
}

Result<std::optional<int64_t>> RowPacker::add(const Row& document, int64_t begin, int64_t size) {
  const auto row = find_row(size);
  if (!row) return row;
  const auto r = static_cast<size_t>(*row), count = static_cast<size_t>(size);
  const size_t at = r * static_cast<size_t>(length_) + static_cast<size_t>(used_[r]);
  for (size_t i = 0; i < reader_->specs().size(); ++i)
    HW_RETURN_IF_ERROR(
        copy_feature(document.features[i], static_cast<size_t>(begin), count, lists_[i], at));
  if (!own_positions_) {
    const auto positions = std::span(lists_[lists_.size() - 2].ints).subspan(at, count);
    std::iota(positions.begin(), positions.end(), 0);
  }
  const auto ids = std::span(lists_.back().ints).subspan(at, count);
  std::fill(ids.begin(), ids.end(), ++row_docs_[r]);
  used_[r] += size;
  ++documents_;
  return row;
}

void RowPacker::finish(RowRange range, Batch& batch) const {
  batch.rows = range.end - range.begin;
  const auto begin = static_cast<size_t>(range.begin), rows = static_cast<size_t>(batch.rows);
  for (size_t r = begin; r < begin + rows; ++r) {
    batch.lengths.push_back(static_cast<int32_t>(used_[r]));
    batch.tokens += used_[r];
    if (used_[r] > 0) batch.real_rows = static_cast<int64_t>(r - begin) + 1;
  }
  const auto length = static_cast<size_t>(length_);
  for (const BatchFeature& list : lists_) {
    BatchFeature feature{.name = list.name, .type = list.type, .shape = {batch.rows, length_}};
    const auto cut = [&](const auto& from, auto& to) {
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin * length);
      to.assign(first, first + static_cast<std::ptrdiff_t>(rows * length));
    };
    if (list.type == FeatureType::kInt64) cut(list.ints, feature.ints);
    if (list.type == FeatureType::kFloat) cut(list.floats, feature.floats);
    batch.features.push_back(std::move(feature));
  }
}

}  // namespace headwater
