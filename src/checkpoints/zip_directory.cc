#include "checkpoints/zip_directory.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "checkpoints/byte_cursor.h"

namespace headwater {
namespace {

constexpr std::string_view kEndMagic = "PK\x05\x06", kEnd64Magic = "PK\x06\x06",
                           kLocator64Magic = "PK\x06\x07", kCentralMagic = "PK\x01\x02",
                           kLocalMagic = "PK\x03\x04";
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kLargestComment = 65535;
constexpr uint32_t kIn64 = 0xffffffff;  // the number is in the zip64 record
constexpr uint16_t kZip64Extra = 1, kEncrypted = 1, kStored = 0;

struct Directory {
  uint64_t entries = 0, size = 0, offset = 0;
};

// The end record is the last thing but a comment, so it is searched from behind.
std::optional<size_t> find_end(std::span<const uint8_t> archive) {
  if (archive.size() < kEndBytes) return std::nullopt;
  const size_t last = archive.size() - kEndBytes;
  const size_t first = last > kLargestComment ? last - kLargestComment : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (!as_text(archive.subspan(at)).starts_with(kEndMagic)) continue;
    if (*ByteCursor(archive, at + 20).number<uint16_t>() == last - at) return at;
  }
  return std::nullopt;
}

Result<Directory> read_end64(std::span<const uint8_t> archive, size_t end) {
  const auto damaged = [] { return fail(Code::kDataLoss, "its zip64 end record is damaged"); };
  if (end < kLocatorBytes) return damaged();
  ByteCursor locator(archive, end - kLocatorBytes);
  if (as_text(*locator.take(4)) != kLocator64Magic || !locator.skip(4)) return damaged();
  const auto place = locator.number<uint64_t>();
  const auto record = slice_of(archive, *place, 56);
  if (!record || !as_text(*record).starts_with(kEnd64Magic)) return damaged();
  ByteCursor in(*record, 32);
  Directory directory;
  directory.entries = *in.number<uint64_t>();
  directory.size = *in.number<uint64_t>();
  directory.offset = *in.number<uint64_t>();
  return directory;
}

Result<Directory> read_end(std::span<const uint8_t> archive) {
  const auto end = find_end(archive);
  if (!end) {
    return fail_hint(Code::kDataLoss, "copy or download it again",
                     "it is a zip archive without an end: {} bytes are there, more are missing",
                     archive.size());
  }
  ByteCursor in(archive, *end + 10);
  Directory directory;
  directory.entries = *in.number<uint16_t>();
  directory.size = *in.number<uint32_t>();
  directory.offset = *in.number<uint32_t>();
  const bool in64 =
      directory.entries == 0xffff || directory.size == kIn64 || directory.offset == kIn64;
  return in64 ? read_end64(archive, *end) : directory;
}

// One entry of the central directory.
struct Central {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, local = 0;
};

// Numbers that do not fit their 32 bits stand in the extra field, in this order.
bool read_extra64(std::span<const uint8_t> extra, Central& entry) {
  for (ByteCursor in(extra); in.left() >= 4;) {
    const uint16_t id = *in.number<uint16_t>();
    const auto content = in.take(*in.number<uint16_t>());
    if (!content) return false;
    if (id != kZip64Extra) continue;
    ByteCursor values(*content);
    for (uint64_t* number : {&entry.size, &entry.packed, &entry.local}) {
      if (*number != kIn64) continue;
      const auto value = values.number<uint64_t>();
      if (!value) return false;
      *number = *value;
    }
  }
  return true;
}

std::optional<Central> read_central(ByteCursor& in) {
  const auto fixed = in.take(46);
  if (!fixed || !as_text(*fixed).starts_with(kCentralMagic)) return std::nullopt;
  Central entry;
  ByteCursor fields(*fixed, 8);
  entry.flags = *fields.number<uint16_t>();
  entry.method = *fields.number<uint16_t>();
  fields.skip(4);  // time
  entry.crc = *fields.number<uint32_t>();
  entry.packed = *fields.number<uint32_t>();
  entry.size = *fields.number<uint32_t>();
  const uint16_t name = *fields.number<uint16_t>(), extra = *fields.number<uint16_t>(),
                 comment = *fields.number<uint16_t>();
  fields.skip(8);  // disk and attributes
  entry.local = *fields.number<uint32_t>();
  const auto name_bytes = in.take(name);
  const auto extra_bytes = name_bytes ? in.take(extra) : std::nullopt;
  if (!extra_bytes || !in.skip(comment) || !read_extra64(*extra_bytes, entry)) return std::nullopt;
  entry.name = as_text(*name_bytes);
  return entry;
}

Result<ZipEntry> locate(std::span<const uint8_t> archive, const Central& entry) {
  if (entry.flags & kEncrypted) return fail(Code::kUnimplemented, "it is encrypted");
  if (entry.method != kStored) {
    return fail_hint(Code::kUnimplemented, "torch.save stores without compression: save it again",
                     "it is compressed ({} bytes to {})", entry.size, entry.packed);
  }
  const auto header = slice_of(archive, entry.local, 30);
  if (!header || !as_text(*header).starts_with(kLocalMagic)) {
    return fail(Code::kDataLoss, "its header is not at byte {}", entry.local);
  }
  ByteCursor lengths(*header, 26);
  const uint64_t before = uint64_t{30} + *lengths.number<uint16_t>() + *lengths.number<uint16_t>();
  const auto bytes = slice_of(archive, entry.local + before, entry.size);
  if (entry.packed != entry.size || !bytes) {
    return fail_hint(Code::kDataLoss, "copy or download it again",
                     "its {} bytes from byte {} on are not all there", entry.size,
                     entry.local + before);
  }
  return ZipEntry{*bytes, entry.crc};
}

}  // namespace

Result<ZipDirectory> read_zip_directory(std::span<const uint8_t> archive) {
  HW_ASSIGN_OR_RETURN(const Directory end, read_end(archive));
  const auto central = slice_of(archive, end.offset, end.size);
  if (!central) {
    return fail(Code::kDataLoss, "its directory of {} bytes at byte {} is not there", end.size,
                end.offset);
  }
  ZipDirectory directory;
  ByteCursor in(*central);
  for (uint64_t i = 0; i < end.entries; ++i) {
    const size_t at = in.position();
    const auto entry = read_central(in);
    if (!entry) {
      return fail(Code::kDataLoss, "its directory is damaged at byte {}", end.offset + at);
    }
    auto located = locate(archive, *entry);
    if (!located)
      return in_context(std::move(located).error(), fmt::format("entry '{}'", entry->name));
    if (!directory.emplace(entry->name, *located).second)
      return fail(Code::kDataLoss, "it has two entries '{}'", entry->name);
  }
  return directory;
}

Result<> check_zip_entry(const ZipEntry& entry) {
  uLong crc = ::crc32(0, nullptr, 0);
  for (auto rest = entry.bytes; !rest.empty();) {
    const auto part = rest.first(std::min<size_t>(rest.size(), size_t{1} << 30));
    crc = ::crc32(crc, part.data(), static_cast<uInt>(part.size()));
    rest = rest.subspan(part.size());
  }
  if (crc == entry.crc) return {};
  return fail_hint(Code::kDataLoss, "copy or download it again",
                   "its bytes are damaged: their CRC-32 is {:08x}, the archive says {:08x}", crc,
                   entry.crc);
}

}  // namespace headwater
