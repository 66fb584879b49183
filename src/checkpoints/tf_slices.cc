#include "checkpoints/tf_slices.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "checkpoints/tf_bundle.pb.h"

namespace headwater {
namespace {

constexpr size_t kMostSlices = 4096;  // of one tensor: every pair is compared

// TensorFlow's order-preserving codes: a text, with zeros and 0xff escaped and an end mark ...
void append_ordered_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xff';
    if (c == '\xff') out += '\0';
  }
  out.append("\0\1", 2);
}

// ... a number of at least 0: the count of its bytes, then the bytes, highest first ...
void append_ordered(std::string& out, uint64_t value) {
  const int bytes = (std::bit_width(value) + 7) / 8;
  out += static_cast<char>(bytes);
  for (int i = bytes; i-- > 0;) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

// ... and a signed number: `n` bytes for 7n-1 bits and a sign, the first bits telling n.
void append_ordered_signed(std::string& out, int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int length = std::bit_width(magnitude) / 7 + 1;
  std::array<uint8_t, 10> code;
  code.fill(value < 0 ? 0xff : 0);
  for (int i = 0; i < 8; ++i)
    code[static_cast<size_t>(9 - i)] =
        static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  const auto first = static_cast<size_t>(10 - length);
  const uint32_t header = (0xffffu << (16 - length)) & 0xffffu;  // n ones, in the first two bytes
  code[first] ^= static_cast<uint8_t>(header >> 8);
  if (length > 1) code[first + 1] ^= static_cast<uint8_t>(header & 0xff);
  for (size_t i = first; i < 10; ++i) out += static_cast<char>(code[i]);
}

bool overlap(const TfSlice& a, const TfSlice& b) {
  for (size_t d = 0; d < a.start.size(); ++d) {
    if (a.start[d] + a.length[d] <= b.start[d] || b.start[d] + b.length[d] <= a.start[d])
      return false;
  }
  return true;
}

}  // namespace

std::string tf_slice_key(std::string_view name, std::span<const TfExtent> extents) {
  std::string key;
  append_ordered(key, 0);
  append_ordered_text(key, name);
  append_ordered(key, extents.size());
  for (const TfExtent& extent : extents) {
    append_ordered_signed(key, extent.start);
    append_ordered_signed(key, extent.length);
  }
  return key;
}

Result<TfSlice> resolve_slice(const tf::BundleSlice& slice, const Shape& shape) {
  const auto rank = static_cast<int>(shape.size());
  if (slice.extent_size() != rank) {
    return fail(Code::kDataLoss, "a slice has {} dimensions, the tensor {}", slice.extent_size(),
                rank);
  }
  TfSlice resolved;
  for (int d = 0; d < rank; ++d) {
    const auto& extent = slice.extent(d);
    const bool whole = extent.has_length_case() != tf::BundleSlice::Extent::kLength;
    const int64_t size = shape[static_cast<size_t>(d)];
    const int64_t length = whole ? size : extent.length();
    if (extent.start() < 0 || length < 0 || extent.start() > size ||
        length > size - extent.start()) {
      return fail(Code::kDataLoss, "a slice takes {} from {} on in dimension {} of {}", length,
                  extent.start(), d, shape_text(shape));
    }
    resolved.extents.push_back({extent.start(), whole ? -1 : length});
    resolved.start.push_back(extent.start());
    resolved.length.push_back(length);
  }
  return resolved;
}

Result<> check_cover(std::span<const TfSlice> slices, const Shape& shape) {
  if (slices.size() > kMostSlices) {
    return fail(Code::kUnimplemented, "it has {} slices, over the limit of {}", slices.size(),
                kMostSlices);
  }
  int64_t covered = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const int64_t elements = element_count(slices[i].length);
    const auto sum = checked_add(covered, elements);
    covered = sum.value_or(INT64_MAX);
    for (size_t j = 0; j < i && elements > 0; ++j) {
      if (!overlap(slices[i], slices[j])) continue;
      return fail(Code::kDataLoss, "its slices at {} and {} overlap", shape_text(slices[j].start),
                  shape_text(slices[i].start));
    }
  }
  if (covered == element_count(shape)) return {};
  return fail(Code::kDataLoss, "its {} slices leave a hole: {} of {} elements are there",
              slices.size(), covered, element_count(shape));
}

void copy_slice(std::span<const uint8_t> bytes, const TfSlice& slice, const Shape& shape,
                int64_t element_bytes, uint8_t* whole) {
  if (bytes.empty()) return;
  const size_t rank = shape.size();
  // Dimensions from `inner` on are contiguous in the whole, so that one copy moves them all.
  size_t inner = rank;
  int64_t run = element_bytes;
  while (inner > 0) {
    --inner;
    run *= slice.length[inner];
    if (slice.length[inner] != shape[inner]) break;
  }
  std::vector<int64_t> at(inner, 0);  // the outer position within the slice
  for (size_t done = 0; done < bytes.size(); done += static_cast<size_t>(run)) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d)
      offset = offset * shape[d] + slice.start[d] + (d < inner ? at[d] : 0);
    std::memcpy(whole + offset * element_bytes, bytes.data() + done, static_cast<size_t>(run));
    for (size_t d = inner; d-- > 0;) {
      if (++at[d] < slice.length[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace headwater
