#include "checkpoints/safetensors.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "checkpoints/foreign_file.h"
#include "checkpoints/safetensors_header.h"

namespace headwater {
namespace {

// Bytes read from `source` into `out`; fewer only at the end of the file.
Result<int64_t> read_fully(ByteSource& source, std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    HW_ASSIGN_OR_RETURN(const size_t n, source.read(out.subspan(done)));
    if (n == 0) break;
    done += n;
  }
  return static_cast<int64_t>(done);
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Reads `n` bytes, at most the size of the file, so that no length in a file asks for more memory
// than the file has bytes.
Result<std::string> read_text(ByteSource& source, int64_t n) {
  std::string text(static_cast<size_t>(n), '\0');
  auto* bytes = reinterpret_cast<uint8_t*>(text.data());
  HW_ASSIGN_OR_RETURN(const int64_t got, read_fully(source, {bytes, text.size()}));
  text.resize(static_cast<size_t>(got));
  return text;
}

Error not_safetensors(std::string_view first_bytes, std::string_view reason) {
  const ForeignFile foreign = recognise_foreign_file(first_bytes);
  if (foreign.looks_like.empty()) {
    return {Code::kInvalidArgument,
            fmt::format("not a safetensors file: {}", reason),
            "it may be cut or damaged, or be something else",
            {}};
  }
  return {Code::kInvalidArgument,
          fmt::format("not a safetensors file: it looks like {}", foreign.looks_like),
          foreign.hint,
          {}};
}

}  // namespace

Result<SafetensorsReader> SafetensorsReader::open(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const FileInfo info, fs.info(path));
  if (info.is_directory) {
    return fail(Code::kInvalidArgument, "{} is a directory, not a safetensors file", path);
  }
  HW_ASSIGN_OR_RETURN(auto source, fs.open_read(path));
  return open(std::move(source), info.size, path);
}

Result<SafetensorsReader> SafetensorsReader::open(std::unique_ptr<ByteSource> source, int64_t size,
                                                  std::string name) {
  const auto located = [&](Error error) { return in_context(std::move(error), name); };
  if (size == 0) return located({Code::kDataLoss, "the file is empty", "write it again", {}});
  auto prefix = read_text(*source, std::min<int64_t>(size, 8));
  if (!prefix) return located(std::move(prefix).error());
  const uint64_t declared = little_endian(*prefix);
  const auto room = static_cast<uint64_t>(size - static_cast<int64_t>(prefix->size()));
  if (size < 8 || declared > kMaxSafetensorsHeader || declared > room) {
    auto rest = read_text(*source, std::min<int64_t>(static_cast<int64_t>(room), 64));
    const std::string reason =
        size < 8 ? fmt::format("it has {} bytes", size)
                 : fmt::format("its header should have {} bytes, the file has {}", declared, size);
    return located(not_safetensors(*prefix + rest.value_or(""), reason));
  }
  auto text = read_text(*source, static_cast<int64_t>(declared));
  if (!text) return located(std::move(text).error());
  const size_t start = text->find_first_not_of(" \t\r\n");
  if (start == std::string::npos || (*text)[start] != '{') {
    return located(not_safetensors(*prefix + text->substr(0, 64), "its header is no JSON object"));
  }
  auto header = parse_safetensors_header(*text);
  if (!header) return located(std::move(header).error());
  const int64_t found = size - 8 - static_cast<int64_t>(declared);
  if (found != header->data_size) {
    return located(
        {Code::kDataLoss,
         fmt::format("the file should have {} bytes, it has {}: {} bytes {}",
                     size - found + header->data_size, size, std::abs(found - header->data_size),
                     found < header->data_size ? "are missing" : "too many"),
         "copy or download it again",
         {}});
  }
  SafetensorsReader reader;
  reader.source_ = std::move(source);
  reader.name_ = std::move(name);
  reader.entries_ = std::move(header->entries);
  reader.metadata_ = std::move(header->metadata);
  reader.data_size_ = header->data_size;
  return reader;
}

Result<> SafetensorsReader::skip_to(int64_t position) {
  HW_CHECK(position >= position_, "safetensors entries are read in file order");
  std::vector<uint8_t> buffer;
  while (position_ < position) {
    if (buffer.empty())
      buffer.resize(static_cast<size_t>(std::min<int64_t>(position - position_, 1 << 20)));
    const auto want = std::min<size_t>(buffer.size(), static_cast<size_t>(position - position_));
    HW_ASSIGN_OR_RETURN(const int64_t got, read_fully(*source_, std::span(buffer).first(want)));
    position_ += got;
    if (got < static_cast<int64_t>(want)) {
      return fail(Code::kDataLoss, "{}: the file became shorter while it was read", name_);
    }
  }
  return {};
}

Result<Tensor> SafetensorsReader::read(size_t index) {
  HW_CHECK(index < entries_.size());
  const TensorEntry& entry = entries_[index];
  if (!entry.dtype) {
    return fail_hint(Code::kUnimplemented, "convert it to F32 first",
                     "{}: tensor '{}' has element type {}, which is not supported", name_,
                     entry.name, entry.type);
  }
  HW_RETURN_IF_ERROR(skip_to(entry.begin));
  Tensor tensor(*entry.dtype, entry.shape);
  const std::span<uint8_t> bytes(tensor.data(), static_cast<size_t>(tensor.byte_size()));
  HW_ASSIGN_OR_RETURN(const int64_t got, read_fully(*source_, bytes));
  position_ += got;
  if (got < tensor.byte_size()) {
    return fail(Code::kDataLoss, "{}: tensor '{}' has {} of {} bytes", name_, entry.name, got,
                tensor.byte_size());
  }
  return tensor;
}

Result<> SafetensorsReader::finish() { return skip_to(data_size_); }

Result<std::vector<NamedTensor>> read_safetensors(FileSystem& fs, const std::string& path,
                                                  const TensorFilter& wanted) {
  HW_ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::open(fs, path));
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < reader.entries().size(); ++i) {
    const std::string& name = reader.entries()[i].name;
    if (wanted && !wanted(name)) continue;
    HW_ASSIGN_OR_RETURN(Tensor tensor, reader.read(i));
    tensors.push_back({name, std::move(tensor)});
  }
  return tensors;
}

Result<TensorMap> read_safetensors_map(FileSystem& fs, const std::string& path,
                                       const TensorFilter& wanted) {
  HW_ASSIGN_OR_RETURN(auto tensors, read_safetensors(fs, path, wanted));
  TensorMap map;
  for (NamedTensor& named : tensors) map.emplace(std::move(named.name), std::move(named.tensor));
  return map;
}

Result<> write_safetensors(ByteSink& sink, std::vector<TensorPlan> tensors,
                           const TensorProducer& produce, const SafetensorsMetadata& metadata) {
  std::set<std::string_view> names;
  for (const TensorPlan& tensor : tensors) {
    const auto count = checked_element_count(tensor.shape);
    const bool fits = count && checked_mul(*count, element_bytes(tensor.type)).has_value();
    if (!fits || tensor.name == "__metadata__" || safetensors_rank(tensor.type) < 0) {
      return fail(Code::kInvalidArgument, "tensor '{}' ({} {}) cannot be written to safetensors",
                  tensor.name, element_name(tensor.type), shape_text(tensor.shape));
    }
    if (!names.insert(tensor.name).second) {
      return fail(Code::kInvalidArgument, "tensor '{}' would be written twice", tensor.name);
    }
  }
  const auto key = [](const TensorPlan& tensor) {
    return std::pair<int, std::string_view>(-safetensors_rank(tensor.type), tensor.name);
  };
  std::sort(tensors.begin(), tensors.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  HW_ASSIGN_OR_RETURN(const std::string header, format_safetensors_header(tensors, metadata));
  HW_RETURN_IF_ERROR(sink.write(header));
  for (const TensorPlan& tensor : tensors) HW_RETURN_IF_ERROR(produce(tensor, sink));
  return {};
}

Result<> write_safetensors(ByteSink& sink, std::vector<TensorView> tensors,
                           const SafetensorsMetadata& metadata) {
  std::vector<TensorPlan> plans;
  std::map<std::string_view, std::span<const uint8_t>> bytes;
  for (const TensorView& tensor : tensors) {
    const int64_t size = element_count(tensor.shape) * dtype_size(tensor.dtype);
    if (size != static_cast<int64_t>(tensor.bytes.size())) {
      return fail(Code::kInvalidArgument, "tensor '{}' of shape {} with {} bytes cannot be written",
                  tensor.name, shape_text(tensor.shape), tensor.bytes.size());
    }
    plans.push_back({tensor.name, element_type(tensor.dtype), tensor.shape});
    bytes.emplace(tensor.name, tensor.bytes);
  }
  return write_safetensors(
      sink, std::move(plans),
      [&](const TensorPlan& tensor, ByteSink& out) -> Result<> {
        const auto data = bytes.find(tensor.name)->second;
        return data.empty() ? Result<>() : out.write(data);
      },
      metadata);
}

Result<> write_safetensors_file(FileSystem& fs, const std::string& path,
                                std::vector<TensorView> tensors,
                                const SafetensorsMetadata& metadata) {
  HW_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(fs, path));
  HW_RETURN_IF_ERROR(write_safetensors(file.sink(), std::move(tensors), metadata));
  return file.commit();
}

std::vector<TensorView> tensor_views(std::span<const NamedTensor> tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (const NamedTensor& named : tensors)
    views.push_back(TensorView::of(named.name, named.tensor));
  return views;
}

}  // namespace headwater
