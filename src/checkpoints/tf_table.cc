#include "checkpoints/tf_table.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/crc32c.h"
#include "checkpoints/byte_cursor.h"
#include "checkpoints/snappy.h"

namespace headwater {
namespace {

constexpr size_t kFooterBytes = 48, kHandlesBytes = 40;
constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kTrailerBytes = 5;  // of a block: how it is compressed, and its checksum
constexpr uint8_t kPlain = 0, kSnappy = 1;
constexpr size_t kBlockBytes = 262144;
constexpr int64_t kDataRestarts = 16, kIndexRestarts = 1;
// Keys share prefixes, so a table holds more key bytes than it has; not beyond reason.
constexpr uint64_t kLargestKey = uint64_t{1} << 16, kLargestExpansion = 64;

struct BlockPlace {
  uint64_t offset = 0, size = 0;
};

std::optional<BlockPlace> read_place(ByteCursor& in) {
  const auto offset = in.varint();
  const auto size = offset ? in.varint() : std::nullopt;
  if (!size) return std::nullopt;
  return BlockPlace{*offset, *size};
}

// The entries of a block, out of its compression and without its restart points. Not to be copied:
// the entries may point into its own memory.
struct BlockContent {
  std::unique_ptr<const std::vector<uint8_t>> unpacked;  // when it was compressed
  std::span<const uint8_t> entries;
};

Result<BlockContent> read_block(std::span<const uint8_t> file, BlockPlace place) {
  const auto damaged = [&](std::string_view what) {
    return fail(Code::kDataLoss, "the index block at byte {} {}", place.offset, what);
  };
  const auto packed = slice_of(file.first(file.size() - kFooterBytes), place.offset, place.size);
  const auto trailer =
      packed ? slice_of(file, place.offset + place.size, kTrailerBytes) : std::nullopt;
  if (!trailer)
    return damaged(fmt::format("should have {} bytes, the file ends before", place.size));
  const uint32_t stored = *ByteCursor(trailer->subspan(1)).number<uint32_t>();
  const uint32_t computed = mask_crc(crc32c(trailer->first(1), crc32c(*packed)));
  if (stored != computed) {
    return damaged(
        fmt::format("is damaged: its checksum is {:08x}, stored is {:08x}", computed, stored));
  }
  BlockContent block{nullptr, *packed};
  if ((*trailer)[0] == kSnappy) {
    auto unpacked = snappy_decompress(*packed);
    if (!unpacked) return damaged("is damaged: " + unpacked.error().message);
    block.unpacked = std::make_unique<const std::vector<uint8_t>>(*std::move(unpacked));
    block.entries = *block.unpacked;
  } else if ((*trailer)[0] != kPlain) {
    return damaged(fmt::format("has the unknown compression {}", (*trailer)[0]));
  }
  const auto count_bytes = block.entries.size() >= 4
                               ? slice_of(block.entries, block.entries.size() - 4, 4)
                               : std::nullopt;
  if (!count_bytes) return damaged("is too short");
  const uint64_t tail = 4 + 4 * uint64_t{*ByteCursor(*count_bytes).number<uint32_t>()};
  if (tail > block.entries.size()) return damaged("has more restart points than bytes");
  block.entries = block.entries.first(block.entries.size() - static_cast<size_t>(tail));
  return block;
}

// The place of a key that continues the one before it.
class BlockReader {
 public:
  BlockReader(std::span<const uint8_t> entries, uint64_t block_offset)
      : in_(entries), block_offset_(block_offset) {}
  bool at_end() const { return in_.at_end(); }
  const std::string& key() const { return key_; }
  std::span<const uint8_t> value() const { return value_; }

  Result<> next() {
    const size_t start = in_.position();
    const auto shared = in_.varint();
    const auto added = shared ? in_.varint() : std::nullopt;
    const auto value_size = added ? in_.varint() : std::nullopt;
    const auto tail = value_size ? in_.take(*added) : std::nullopt;
    const auto value = tail ? in_.take(*value_size) : std::nullopt;
    if (!value || *shared > key_.size() || *shared + *added > kLargestKey) {
      return fail(Code::kDataLoss, "the index block at byte {} is damaged at its byte {}",
                  block_offset_, start);
    }
    key_.resize(static_cast<size_t>(*shared));
    key_ += as_text(*tail);
    value_ = *value;
    return {};
  }

 private:
  ByteCursor in_;
  uint64_t block_offset_;
  std::string key_;
  std::span<const uint8_t> value_;
};

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_fixed32(std::string& out, uint32_t value) {
  for (int i = 0; i < 4; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
}

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(
      std::mismatch(a.begin(),
                    a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
}

// A short key from `last` on and before `next`, as LevelDB chooses it.
std::string separator_between(std::string last, std::string_view next) {
  const size_t i = common_prefix(last, next);
  if (i >= std::min(last.size(), next.size())) return last;
  const auto byte = static_cast<uint8_t>(last[i]);
  if (byte == 0xff || byte + 1 >= static_cast<uint8_t>(next[i])) return last;
  last[i] = static_cast<char>(byte + 1);
  last.resize(i + 1);
  return last;
}

std::string successor_of(std::string last) {
  const auto rising = std::find_if(last.begin(), last.end(), [](char c) { return c != '\xff'; });
  if (rising == last.end()) return last;
  *rising = static_cast<char>(static_cast<uint8_t>(*rising) + 1);
  last.erase(rising + 1, last.end());
  return last;
}

}  // namespace

bool is_sorted_table(std::span<const uint8_t> file) {
  if (file.size() < kFooterBytes) return false;
  return ByteCursor(file.last(sizeof kMagic)).number<uint64_t>() == kMagic;
}

Result<> read_sorted_table(std::span<const uint8_t> file, const TableVisitor& visit) {
  if (!is_sorted_table(file)) {
    return fail(Code::kDataLoss,
                "its last 8 bytes are not those of an index: it is cut, or something else");
  }
  ByteCursor footer(file.last(kFooterBytes).first(kHandlesBytes));
  const bool has_meta = read_place(footer).has_value();
  const auto index_place = has_meta ? read_place(footer) : std::nullopt;
  if (!index_place) {
    return fail(Code::kDataLoss, "its footer at byte {} is damaged", file.size() - kFooterBytes);
  }
  HW_ASSIGN_OR_RETURN(const BlockContent index, read_block(file, *index_place));
  std::string last_key;
  bool first = true;
  uint64_t key_bytes = 0;
  for (BlockReader blocks(index.entries, index_place->offset); !blocks.at_end();) {
    HW_RETURN_IF_ERROR(blocks.next());
    ByteCursor handle(blocks.value());
    const auto place = read_place(handle);
    if (!place) return fail(Code::kDataLoss, "the index of blocks is damaged");
    HW_ASSIGN_OR_RETURN(const BlockContent block, read_block(file, *place));
    for (BlockReader entries(block.entries, place->offset); !entries.at_end();) {
      HW_RETURN_IF_ERROR(entries.next());
      if (!first && entries.key() <= last_key) {
        return fail(Code::kDataLoss, "the keys of the block at byte {} are out of order",
                    place->offset);
      }
      first = false;
      last_key = entries.key();
      key_bytes += last_key.size();
      if (key_bytes > kLargestKey + kLargestExpansion * file.size()) {
        return fail(Code::kDataLoss, "its names take more than {} times its size",
                    kLargestExpansion);
      }
      HW_RETURN_IF_ERROR(visit(last_key, as_text(entries.value())));
    }
  }
  return {};
}

void SortedTableBuilder::Block::add(std::string_view key, std::string_view value,
                                    int64_t restart_interval) {
  size_t shared = 0;
  if (since_restart < restart_interval) {
    shared = common_prefix(last_key, key);
  } else {
    restarts.push_back(static_cast<uint32_t>(bytes.size()));
    since_restart = 0;
  }
  append_varint(bytes, shared);
  append_varint(bytes, key.size() - shared);
  append_varint(bytes, value.size());
  bytes += key.substr(shared);
  bytes += value;
  last_key = key;
  ++since_restart;
}

std::string SortedTableBuilder::Handle::encoded() const {
  std::string out;
  append_varint(out, offset);
  append_varint(out, size);
  return out;
}

SortedTableBuilder::Handle SortedTableBuilder::write_block(Block& block) {
  for (const uint32_t restart : block.restarts) append_fixed32(block.bytes, restart);
  append_fixed32(block.bytes, static_cast<uint32_t>(block.restarts.size()));
  const Handle handle{file_.size(), block.bytes.size()};
  block.bytes += static_cast<char>(kPlain);
  file_ += block.bytes;
  append_fixed32(file_, mask_crc(crc32c(block.bytes)));
  block = {};
  return handle;
}

// `separator` comes after all keys of the block and not after the first one behind it.
void SortedTableBuilder::end_data_block(const std::string& separator) {
  index_.add(separator, write_block(data_).encoded(), kIndexRestarts);
}

void SortedTableBuilder::add(std::string_view key, std::string_view value) {
  if (data_.size() >= kBlockBytes) end_data_block(separator_between(data_.last_key, key));
  data_.add(key, value, kDataRestarts);
}

std::string SortedTableBuilder::finish() && {
  if (!data_.bytes.empty()) end_data_block(successor_of(data_.last_key));
  Block meta;  // TensorFlow writes an empty one
  std::string handles = write_block(meta).encoded();
  handles += write_block(index_).encoded();
  file_ += handles;
  file_.append(kHandlesBytes - handles.size(), '\0');
  for (int i = 0; i < 8; ++i) file_ += static_cast<char>((kMagic >> (8 * i)) & 0xff);
  return std::move(file_);
}

}  // namespace headwater
