#include "checkpoints/torch_writer.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "checkpoints/byte_cursor.h"

namespace headwater {
namespace {

constexpr std::string_view kRoot = "pytorch_model";
constexpr int64_t kAlignment = 64;                      // of the tensors in the file, for mappings
constexpr int64_t kLimit = (int64_t{1} << 32) - 65536;  // offsets of zip have 32 bits
constexpr uint16_t kDate = 0x21;                        // 1980-01-01: no clock in results

template <class Int>
void append(std::string& out, Int value) {
  for (size_t i = 0; i < sizeof(Int); ++i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
}

std::optional<std::string_view> storage_name(ElementType type) {
  switch (type) {
    case ElementType::kF32: return "FloatStorage";
    case ElementType::kF64: return "DoubleStorage";
    case ElementType::kF16: return "HalfStorage";
    case ElementType::kBF16: return "BFloat16Storage";
    case ElementType::kI8: return "CharStorage";
    case ElementType::kI16: return "ShortStorage";
    case ElementType::kI32: return "IntStorage";
    case ElementType::kI64: return "LongStorage";
    case ElementType::kU8: return "ByteStorage";
    case ElementType::kBool: return "BoolStorage";
    default: return std::nullopt;
  }
}

uint32_t crc_of(std::span<const uint8_t> bytes) {  // below 4 GiB
  return static_cast<uint32_t>(::crc32_z(::crc32(0, nullptr, 0), bytes.data(), bytes.size()));
}

// The instructions of pickle protocol 2 that a state dict needs; no memo.
class Pickler {
 public:
  void text(std::string_view words) {
    out += 'X';
    append(out, static_cast<uint32_t>(words.size()));
    out += words;
  }
  void integer(int64_t value) {
    if (value < (int64_t{1} << 31)) {
      out += 'J';
      append(out, static_cast<int32_t>(value));
    } else {
      out += "\x8a\x08";
      append(out, value);
    }
  }
  void integers(std::span<const int64_t> values) {
    out += '(';
    for (const int64_t value : values) integer(value);
    out += 't';
  }
  void global(std::string_view module, std::string_view name) {
    out += fmt::format("c{}\n{}\n", module, name);
  }

  std::string out = "\x80\x02";
};

}  // namespace

Result<TorchWriter> TorchWriter::create(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(fs, path));
  return TorchWriter(std::move(file));
}

// Header with the entry's sizes, and an extra field that moves the bytes to their alignment.
Result<> TorchWriter::write_entry(const std::string& name, std::span<const uint8_t> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const Entry entry{fmt::format("{}/{}", kRoot, name), crc_of(bytes), static_cast<uint32_t>(size),
                    static_cast<uint32_t>(offset_)};
  const auto unpadded = offset_ + 30 + static_cast<int64_t>(entry.name.size()) + 4;
  const int64_t padding = round_up(unpadded, kAlignment) - unpadded;
  if (unpadded + padding + size > kLimit) {
    return fail_hint(Code::kUnimplemented, "write safetensors",
                     "a PyTorch file of over 4 GiB is not written");
  }
  std::string header = "PK\x03\x04";
  for (const uint16_t field : {0, 0, 0, 0, int{kDate}}) append(header, field);
  append(header, entry.crc);
  append(header, entry.size);
  append(header, entry.size);
  append(header, static_cast<uint16_t>(entry.name.size()));
  append(header, static_cast<uint16_t>(padding + 4));
  header += entry.name + "FB";
  append(header, static_cast<uint16_t>(padding));
  header.append(static_cast<size_t>(padding), 'Z');
  HW_RETURN_IF_ERROR(file_.sink().write(header));
  HW_RETURN_IF_ERROR(file_.sink().write(bytes));
  offset_ += static_cast<int64_t>(header.size()) + size;
  entries_.push_back(entry);
  return {};
}

Result<> TorchWriter::remember(Written written) {
  if (!by_name_.try_emplace(written.name, written_.size()).second) {
    return fail(Code::kInvalidArgument, "tensor '{}' would be written twice", written.name);
  }
  written_.push_back(std::move(written));
  return {};
}

Result<> TorchWriter::add(const std::string& name, ElementType type, const Shape& shape,
                          std::span<const uint8_t> bytes) {
  HW_ASSIGN_OR_RETURN(const int64_t count, checked_element_count(shape));
  if (!storage_name(type) ||
      checked_mul(count, element_bytes(type)) != static_cast<int64_t>(bytes.size())) {
    return fail(Code::kInvalidArgument,
                "tensor '{}' ({} {}, {} bytes) cannot be written to a PyTorch file", name,
                element_name(type), shape_text(shape), bytes.size());
  }
  HW_RETURN_IF_ERROR(remember({name, type, shape, storages_}));
  return write_entry(fmt::format("data/{}", storages_++), bytes);
}

Result<> TorchWriter::add_tied(const std::string& name, const std::string& of) {
  const auto found = by_name_.find(of);
  if (found == by_name_.end()) {
    return fail(Code::kInvalidArgument, "'{}' is to be tied to '{}', which is not there", name, of);
  }
  Written written = written_[found->second];
  written.name = name;
  return remember(std::move(written));
}

std::string TorchWriter::pickle() const {
  Pickler p;
  p.out += "}(";
  for (const Written& tensor : written_) {
    p.text(tensor.name);
    p.global("torch._utils", "_rebuild_tensor_v2");
    p.out += "((";
    p.text("storage");
    p.global("torch", *storage_name(tensor.type));
    p.text(fmt::format("{}", tensor.storage));
    p.text("cpu");
    p.integer(element_count(tensor.shape));
    p.out += "tQ";
    p.integer(0);
    p.integers(tensor.shape);
    std::vector<int64_t> strides(tensor.shape.size());
    int64_t stride = 1;
    for (size_t d = strides.size(); d-- > 0; stride *= std::max<int64_t>(1, tensor.shape[d]))
      strides[d] = stride;
    p.integers(strides);
    p.out += '\x89';
    p.global("collections", "OrderedDict");
    p.out += ")RtR";
  }
  p.out += "u.";
  return std::move(p.out);
}

std::string TorchWriter::directory() const {
  std::string out;
  for (const Entry& entry : entries_) {
    out += "PK\x01\x02";
    for (const uint16_t field : {0, 0, 0, 0, 0, int{kDate}}) append(out, field);
    append(out, entry.crc);
    append(out, entry.size);
    append(out, entry.size);
    append(out, static_cast<uint16_t>(entry.name.size()));
    out.append(12, '\0');  // no extra field, no comment, first disk, no attributes
    append(out, entry.offset);
    out += entry.name;
  }
  const auto size = static_cast<uint32_t>(out.size());
  out.append("PK\x05\x06\0\0\0\0", 8);
  append(out, static_cast<uint16_t>(entries_.size()));
  append(out, static_cast<uint16_t>(entries_.size()));
  append(out, size);
  append(out, static_cast<uint32_t>(offset_));
  out.append(2, '\0');
  return out;
}

Result<> TorchWriter::commit() {
  HW_RETURN_IF_ERROR(write_entry("data.pkl", as_bytes(pickle())));
  HW_RETURN_IF_ERROR(write_entry("byteorder", as_bytes("little")));
  HW_RETURN_IF_ERROR(write_entry("version", as_bytes("3\n")));
  if (entries_.size() >= 0xffff) {
    return fail_hint(Code::kUnimplemented, "write safetensors",
                     "a PyTorch file of over 65,000 tensors is not written");
  }
  HW_RETURN_IF_ERROR(file_.sink().write(directory()));
  return file_.commit();
}

}  // namespace headwater
