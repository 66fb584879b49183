#include "checkpoints/hdf5_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/checked.h"
#include "checkpoints/byte_cursor.h"

namespace headwater {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr uint64_t kUndefined = ~uint64_t{0};  // an address of nothing
constexpr int kDeepest = 64;
constexpr size_t kMostDimensions = 32;  // HDF5's own limit
constexpr size_t kLongestPath = 1024;   // ours: names add up along a path

enum MessageType : uint16_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kLink = 0x06,
  kLayout = 0x08,
  kFilters = 0x0b,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
};

struct Message {
  uint16_t type = 0;
  std::span<const uint8_t> data;
};

class Reader {
 public:
  // Every structure that is visited takes at least eight bytes of the file; more visits than that
  // means that structures point back at each other.
  explicit Reader(std::span<const uint8_t> file)
      : file_(file), visits_left_(file.size() / 8 + 64) {}

  Result<Hdf5Content> run() {
    HW_ASSIGN_OR_RETURN(const uint64_t root, read_superblock());
    HW_RETURN_IF_ERROR(read_object(root, "", 0));
    std::sort(content_.datasets.begin(), content_.datasets.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(content_);
  }

 private:
  static tl::unexpected<Error> damaged(std::string_view what, uint64_t address) {
    return fail(Code::kDataLoss, "its {} at byte {} is damaged or cut", what, address);
  }
  Result<> count_visit(std::string_view what, uint64_t address) {
    if (visits_left_ == 0) return damaged(what, address);
    --visits_left_;
    return {};
  }
  // `size` bytes that begin with `signature`, behind which the cursor stands.
  std::optional<ByteCursor> structure(uint64_t address, uint64_t size, std::string_view signature) {
    const auto bytes = slice_of(file_, address, size);
    if (!bytes || !as_text(*bytes).starts_with(signature)) return std::nullopt;
    return ByteCursor(*bytes, signature.size());
  }

  Result<uint64_t> read_superblock();
  Result<std::vector<Message>> read_header(uint64_t address);
  Result<> read_messages(std::span<const uint8_t> block, uint64_t address,
                         std::vector<Message>& messages);
  Result<> read_object(uint64_t address, const std::string& path, int depth);
  Result<> read_group(std::span<const uint8_t> table, const std::string& path, int depth);
  Result<> read_tree(uint64_t address, std::span<const uint8_t> names, const std::string& path,
                     int depth, int level);
  Result<> read_symbols(uint64_t address, std::span<const uint8_t> names, const std::string& path,
                        int depth);
  Result<> read_dataset(std::span<const Message> messages, const std::string& path);

  std::span<const uint8_t> file_;
  size_t visits_left_;
  std::set<uint64_t> groups_;  // addresses of groups that were read
  Hdf5Content content_;
};

std::span<const uint8_t> find_message(std::span<const Message> messages, uint16_t type) {
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [&](const Message& message) { return message.type == type; });
  return found == messages.end() ? std::span<const uint8_t>() : found->data;
}

bool has_message(std::span<const Message> messages, uint16_t type) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const Message& message) { return message.type == type; });
}

// Version 0 or 1, addresses and lengths of 8 bytes; the address of the root's header.
Result<uint64_t> Reader::read_superblock() {
  auto in = structure(0, 96, kSignature);
  if (!in) return damaged("superblock", 0);
  const uint8_t version = *in->number<uint8_t>();
  if (version > 1) {
    return fail(Code::kUnimplemented,
                "it is HDF5 of a newer layout (superblock version {}); Keras writes version 0",
                version);
  }
  in->skip(4);  // versions of parts, reserved
  const uint8_t offsets = *in->number<uint8_t>(), lengths = *in->number<uint8_t>();
  // reserved, node sizes, flags; version 1 has four bytes more; then base, free space, end, driver
  in->skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
  const uint64_t base = *in->number<uint64_t>();
  in->skip(8);
  const uint64_t end = *in->number<uint64_t>();
  in->skip(8 + 8);  // driver; the root's name
  const auto root = in->number<uint64_t>();
  if (offsets != 8 || lengths != 8 || base != 0 || !root) return damaged("superblock", 0);
  if (end > file_.size()) {
    return fail_hint(Code::kDataLoss, "copy or download it again",
                     "the file should have {} bytes, it has {}", end, file_.size());
  }
  return *root;
}

Result<> Reader::read_messages(std::span<const uint8_t> block, uint64_t address,
                               std::vector<Message>& messages) {
  for (ByteCursor in(block); in.left() >= 8;) {
    HW_RETURN_IF_ERROR(count_visit("object header", address));
    const uint16_t type = *in.number<uint16_t>();
    const uint16_t size = *in.number<uint16_t>();
    in.skip(4);  // flags, reserved
    const auto data = in.take(size);
    if (!data) return damaged("object header", address);
    messages.push_back({type, *data});
  }
  return {};
}

Result<std::vector<Message>> Reader::read_header(uint64_t address) {
  HW_RETURN_IF_ERROR(count_visit("object header", address));
  auto in = structure(address, 16, "");
  if (!in) return damaged("object header", address);
  if (as_text(*slice_of(file_, address, 4)) == "OHDR") {
    return fail(Code::kUnimplemented, "it has object headers of a newer layout than Keras writes");
  }
  if (*in->number<uint8_t>() != 1) return damaged("object header", address);
  in->skip(1 + 2 + 4);  // reserved, number of messages, references
  const uint32_t size = *in->number<uint32_t>();
  const auto block = slice_of(file_, address + 16, size);
  if (!block) return damaged("object header", address);
  std::vector<Message> messages;
  HW_RETURN_IF_ERROR(read_messages(*block, address, messages));
  for (size_t i = 0; i < messages.size(); ++i) {  // grows: a continuation may be continued
    if (messages[i].type != kContinuation) continue;
    ByteCursor place(messages[i].data);
    const auto offset = place.number<uint64_t>();
    const auto length = offset ? place.number<uint64_t>() : std::nullopt;
    const auto more = length ? slice_of(file_, *offset, *length) : std::nullopt;
    if (!more) return damaged("object header", address);
    HW_RETURN_IF_ERROR(read_messages(*more, *offset, messages));
  }
  return messages;
}

Result<> Reader::read_object(uint64_t address, const std::string& path, int depth) {
  if (depth > kDeepest) return damaged("tree of groups", address);
  HW_ASSIGN_OR_RETURN(const auto messages, read_header(address));
  if (has_message(messages, kSymbolTable)) {
    if (!groups_.insert(address).second) return damaged("tree of groups", address);
    return read_group(find_message(messages, kSymbolTable), path, depth);
  }
  if (has_message(messages, kLinkInfo) || has_message(messages, kLink)) {
    return fail(Code::kUnimplemented, "'{}' is a group of a newer layout than Keras writes", path);
  }
  if (!has_message(messages, kLayout)) return {};  // a named type, which holds no data
  auto read = read_dataset(messages, path);
  if (!read) return in_context(std::move(read).error(), fmt::format("dataset '{}'", path));
  return {};
}

// Names are in a heap, their objects in a tree.
Result<> Reader::read_group(std::span<const uint8_t> table, const std::string& path, int depth) {
  ByteCursor in(table);
  const auto tree = in.number<uint64_t>();
  const auto heap = tree ? in.number<uint64_t>() : std::nullopt;
  auto head = heap ? structure(*heap, 32, "HEAP") : std::nullopt;
  if (!head) return damaged("heap of names", heap.value_or(0));
  head->skip(4);  // version
  const uint64_t size = *head->number<uint64_t>();
  head->skip(8);  // free list
  const auto names = slice_of(file_, *head->number<uint64_t>(), size);
  if (!names) return damaged("heap of names", *heap);
  return read_tree(*tree, *names, path, depth, kDeepest);
}

Result<> Reader::read_tree(uint64_t address, std::span<const uint8_t> names,
                           const std::string& path, int depth, int level_limit) {
  HW_RETURN_IF_ERROR(count_visit("tree node", address));
  auto in = structure(address, 24, "TREE");
  if (!in) return damaged("tree node", address);
  const uint8_t type = *in->number<uint8_t>(), level = *in->number<uint8_t>();
  const uint16_t children = *in->number<uint16_t>();
  const auto keys = slice_of(file_, address + 24, uint64_t{children} * 16);
  if (type != 0 || level >= level_limit || !keys) return damaged("tree node", address);
  ByteCursor pairs(*keys);
  for (int i = 0; i < children; ++i) {
    pairs.skip(8);  // the first name below; not needed to read all of them
    const uint64_t child = *pairs.number<uint64_t>();
    if (level > 0) HW_RETURN_IF_ERROR(read_tree(child, names, path, depth, level));
    else HW_RETURN_IF_ERROR(read_symbols(child, names, path, depth));
  }
  return {};
}

Result<> Reader::read_symbols(uint64_t address, std::span<const uint8_t> names,
                              const std::string& path, int depth) {
  auto in = structure(address, 8, "SNOD");
  if (!in) return damaged("symbol table", address);
  in->skip(2);  // version
  const uint16_t count = *in->number<uint16_t>();
  const auto entries = slice_of(file_, address + 8, uint64_t{count} * 40);
  if (!entries) return damaged("symbol table", address);
  ByteCursor symbols(*entries);
  for (int i = 0; i < count; ++i) {
    HW_RETURN_IF_ERROR(count_visit("symbol table", address));
    const uint64_t name_at = *symbols.number<uint64_t>(), object = *symbols.number<uint64_t>();
    const uint32_t kind = *symbols.number<uint32_t>();
    symbols.skip(4 + 16);
    if (name_at >= names.size()) return damaged("symbol table", address);
    const std::string_view text = as_text(names.subspan(static_cast<size_t>(name_at)));
    const std::string_view name = text.substr(0, text.find('\0'));
    const std::string full = path.empty() ? std::string(name) : fmt::format("{}/{}", path, name);
    if (kind == 2) continue;  // a symbolic link: what it names is found where it is
    if (full.size() > kLongestPath) return damaged("symbol table", address);
    HW_RETURN_IF_ERROR(read_object(object, full, depth + 1));
  }
  return {};
}

// The extents; empty for what has none (a null dataspace or a damaged one).
std::optional<Shape> read_dataspace(std::span<const uint8_t> message) {
  ByteCursor in(message);
  const auto version = in.number<uint8_t>();
  const auto rank = version ? in.number<uint8_t>() : std::nullopt;
  if (!rank || *rank > kMostDimensions || *version < 1 || *version > 2) return std::nullopt;
  in.skip(1);  // flags
  const auto kind = in.number<uint8_t>();
  if (!kind || (*version == 2 && *kind == 2)) return std::nullopt;
  if (*version == 1) in.skip(4);
  Shape shape;
  for (int d = 0; d < *rank; ++d) {
    const auto extent = in.number<int64_t>();
    if (!extent || *extent < 0) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

// Little-endian integers and IEEE numbers, and the one other float people use.
std::optional<ElementType> read_datatype(std::span<const uint8_t> message) {
  ByteCursor in(message);
  const auto head = in.number<uint32_t>();  // class, version, 24 bits of flags
  const auto size = head ? in.number<uint32_t>() : std::nullopt;
  if (!size) return std::nullopt;
  const uint32_t kind = *head & 0xf, flags = *head >> 8;
  const bool big_endian = (flags & 1) != 0;
  if (big_endian && *size > 1) return std::nullopt;
  using enum ElementType;
  if (kind == 0) {
    const bool is_signed = (flags & 8) != 0;
    switch (*size) {
      case 1: return is_signed ? kI8 : kU8;
      case 2: return is_signed ? kI16 : kU16;
      case 4: return is_signed ? kI32 : kU32;
      case 8: return is_signed ? kI64 : kU64;
      default: return std::nullopt;
    }
  }
  if (kind != 1 || !in.skip(5)) return std::nullopt;
  const auto exponent_bits = in.number<uint8_t>();
  if (!exponent_bits) return std::nullopt;
  if (*size == 4 && *exponent_bits == 8) return kF32;
  if (*size == 8 && *exponent_bits == 11) return kF64;
  if (*size == 2 && *exponent_bits == 5) return kF16;
  if (*size == 2 && *exponent_bits == 8) return kBF16;
  return std::nullopt;
}

Result<> Reader::read_dataset(std::span<const Message> messages, const std::string& path) {
  const auto type = read_datatype(find_message(messages, kDatatype));
  const auto shape = read_dataspace(find_message(messages, kDataspace));
  if (!type || !shape) {
    content_.left_out.push_back(path);
    return {};
  }
  if (has_message(messages, kFilters)) return fail(Code::kUnimplemented, "it is compressed");
  ByteCursor layout(find_message(messages, kLayout));
  const auto version = layout.number<uint8_t>();
  const auto kind = version ? layout.number<uint8_t>() : std::nullopt;
  if (!kind || *version < 3 || *version > 4 || *kind > 1) {
    return fail(Code::kUnimplemented, "it is not stored in one piece (layout {} of version {})",
                kind.value_or(0), version.value_or(0));
  }
  const auto count = checked_element_count(*shape);
  const auto bytes = count ? checked_mul(*count, element_bytes(*type)) : std::nullopt;
  std::optional<std::span<const uint8_t>> data;
  if (*kind == 0) {  // within the header
    const auto size = layout.number<uint16_t>();
    if (size) data = layout.take(*size);
  } else {
    const auto address = layout.number<uint64_t>();
    const auto size = address ? layout.number<uint64_t>() : std::nullopt;
    if (size && (*address != kUndefined || *size == 0 || bytes == 0))
      data = *address == kUndefined ? std::span<const uint8_t>() : slice_of(file_, *address, *size);
  }
  if (!bytes || !data || static_cast<int64_t>(data->size()) < *bytes) {
    return fail(Code::kDataLoss, "its shape {} of {} is not all in the file", shape_text(*shape),
                element_name(*type));
  }
  content_.datasets.push_back({path, *type, *shape, data->first(static_cast<size_t>(*bytes))});
  return {};
}

}  // namespace

Result<Hdf5Content> read_hdf5(std::span<const uint8_t> file) { return Reader(file).run(); }

}  // namespace headwater
