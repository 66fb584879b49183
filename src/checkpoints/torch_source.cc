// Weights of torch.save: the zip form of torch 1.6 and later, and the older sequence of pickles
// (docs/formats/pytorch-bin.md). Tensors are found wherever they are in the pickled dictionaries;
// numbers and texts beside them become metadata.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <variant>

#include "base/checked.h"
#include "checkpoints/pickle.h"
#include "checkpoints/weights_formats.h"
#include "checkpoints/zip_directory.h"

namespace headwater {
namespace {

constexpr int64_t kLargestPickle = int64_t{256} << 20;  // bytes; one of 1,000 tensors has 150 kB
constexpr int kDeepest = 32;                            // nested dictionaries
constexpr size_t kMostMetadata = 200;
constexpr int64_t kMostVisits = 4'000'000;
// A tensor may be larger than its storage by strides of zero; not beyond this and the file's size.
constexpr int64_t kLargestExpanded = int64_t{64} << 20;
constexpr std::string_view kOldMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kOldProtocol = 1001;

// The bytes of a storage, and how to check them (nothing to check in the old form).
struct Storage {
  std::span<const uint8_t> bytes;
  std::optional<ZipEntry> zip;
};
using Storages = std::map<std::string, Storage, std::less<>>;

struct TorchFile {
  FileBytes file;
  Storages storages;
  std::vector<PickleTensor> tensors;  // beside the entries
};

class TorchSource : public WeightsSource {
 public:
  TorchSource(WeightsIndex index, TorchFile content)
      : WeightsSource(std::move(index)), content_(std::move(content)) {}

 private:
  Result<WeightBytes> load(size_t index) const override;

  TorchFile content_;
};

std::vector<int64_t> contiguous_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= std::max<int64_t>(1, shape[d]))
    strides[d] = stride;
  return strides;
}

// Strides of dimensions of one element do not matter.
bool is_contiguous(const PickleTensor& tensor) {
  const auto strides = contiguous_strides(tensor.shape);
  for (size_t d = 0; d < strides.size(); ++d) {
    if (tensor.shape[d] > 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

// Elements of the storage that the tensor reaches, from its first one on.
std::optional<int64_t> reach_of(const PickleTensor& tensor) {
  int64_t reach = 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) return 0;
    const auto far = checked_mul(tensor.shape[d] - 1, tensor.strides[d]);
    const auto sum = far ? checked_add(reach, *far) : std::nullopt;
    if (!sum) return std::nullopt;
    reach = *sum;
  }
  return reach;
}

// The first byte of a tensor in its storage, if all of the tensor is there.
Result<size_t> check_tensor(const PickleTensor& tensor, const TorchFile& content) {
  const auto found = content.storages.find(tensor.storage.key);
  if (found == content.storages.end()) {
    return fail(Code::kDataLoss, "its storage '{}' is not in the file", tensor.storage.key);
  }
  const int64_t size = element_bytes(tensor.type);
  const auto declared = checked_mul(tensor.storage.elements, element_bytes(tensor.storage.type));
  const auto first = checked_mul(tensor.storage.first, element_bytes(tensor.storage.type));
  const auto storage_end = declared && first ? checked_add(*declared, *first) : std::nullopt;
  const auto bytes = static_cast<int64_t>(found->second.bytes.size());
  if (!storage_end || *storage_end > bytes) {
    return fail(Code::kDataLoss, "its storage '{}' should have {} elements, it has {} bytes",
                tensor.storage.key, tensor.storage.elements, bytes);
  }
  const auto reach = reach_of(tensor);
  const auto last = reach ? checked_add(*reach, tensor.offset) : std::nullopt;
  const auto last_byte = last ? checked_mul(*last, size) : std::nullopt;
  const auto offset = checked_mul(tensor.offset, size);
  if (!last_byte || !offset || (*reach > 0 && *last_byte > *declared)) {
    return fail(Code::kDataLoss, "its shape {} at element {} passes the end of storage '{}'",
                shape_text(tensor.shape), tensor.offset, tensor.storage.key);
  }
  return static_cast<size_t>(*reach > 0 ? *first + *offset : 0);
}

Result<WeightEntry> weight_entry(std::string name, const PickleTensor& tensor,
                                 const TorchFile& content) {
  WeightEntry weight;
  weight.name = std::move(name);
  weight.type = tensor.type;
  weight.shape = tensor.shape;
  HW_ASSIGN_OR_RETURN(const int64_t count, checked_element_count(tensor.shape));
  const auto bytes = checked_mul(count, element_bytes(tensor.type));
  if (!bytes || *bytes > std::max(content.file.size(), kLargestExpanded)) {
    return fail(Code::kDataLoss, "its shape {} is larger than the file", shape_text(tensor.shape));
  }
  weight.bytes = *bytes;
  HW_RETURN_IF_ERROR(check_tensor(tensor, content));
  return weight;
}

// Copies a strided tensor row by row of its last dimension.
void gather(std::span<const uint8_t> storage, const PickleTensor& tensor, uint8_t* out) {
  const auto size = static_cast<size_t>(element_bytes(tensor.type));
  const size_t rank = tensor.shape.size();
  std::vector<int64_t> at(rank, 0);
  for (int64_t left = element_count(tensor.shape); left > 0; --left, out += size) {
    int64_t element = 0;
    for (size_t d = 0; d < rank; ++d) element += at[d] * tensor.strides[d];
    std::copy_n(
        storage.begin() + static_cast<std::ptrdiff_t>(element) * static_cast<std::ptrdiff_t>(size),
        size, out);
    for (size_t d = rank; d-- > 0;) {
      if (++at[d] < tensor.shape[d]) break;
      at[d] = 0;
    }
  }
}

Result<WeightBytes> TorchSource::load(size_t index) const {
  const PickleTensor& tensor = content_.tensors[index];
  const Storage& storage = content_.storages.find(tensor.storage.key)->second;
  if (storage.zip) HW_RETURN_IF_ERROR(check_zip_entry(*storage.zip));
  HW_ASSIGN_OR_RETURN(const size_t first, check_tensor(tensor, content_));
  const auto size = static_cast<size_t>(entries()[index].bytes);
  if (is_contiguous(tensor)) return WeightBytes(storage.bytes.subspan(first, size));
  AlignedBuffer whole(entries()[index].bytes);
  gather(storage.bytes.subspan(first), tensor, whole.data());
  return WeightBytes(std::move(whole));
}

// Walks the dictionaries of a pickle and collects what is in them.
class Collector {
 public:
  Collector(const Pickle& pickle, WeightsIndex& index, TorchFile& content)
      : pickle_(pickle), index_(index), content_(content) {}

  Result<> visit(PickleId id, const std::string& name, int depth) {
    if (depth > kDeepest || ++visits_ > kMostVisits) {
      return fail(Code::kUnimplemented, "'{}' is nested too deep, or in itself",
                  name.substr(0, 200));
    }
    const PickleValue& value = pickle_.at(id);
    if (const auto* tensor = std::get_if<PickleTensor>(&value)) return add(*tensor, name);
    if (const auto* dict = std::get_if<PickleDict>(&value)) {
      for (const auto& [key, item] : dict->items) {
        HW_RETURN_IF_ERROR(visit(item, joined(name, key_text(key)), depth + 1));
      }
    } else if (const auto* list = std::get_if<PickleSequence>(&value)) {
      for (size_t i = 0; i < list->items.size(); ++i)
        HW_RETURN_IF_ERROR(visit(list->items[i], joined(name, fmt::format("{}", i)), depth + 1));
    } else {
      add_fact(value, name);
    }
    return {};
  }

 private:
  static std::string joined(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }
  std::string key_text(PickleId id) const {
    if (const auto* text = pickle_.get<std::string>(id)) return *text;
    if (const auto* number = pickle_.get<int64_t>(id)) return fmt::format("{}", *number);
    return "?";
  }

  Result<> add(const PickleTensor& tensor, const std::string& path) {
    const std::string name = path.empty() ? "tensor" : path;
    auto weight = weight_entry(name, tensor, content_);
    if (!weight) {
      return in_context(std::move(weight).error(), fmt::format("tensor '{}'", name));
    }
    if (!names_.insert(name).second) {
      return fail(Code::kUnimplemented, "two tensors have the name '{}'", name);
    }
    const auto [first, added] =
        places_.try_emplace(std::tuple(tensor.storage.key, tensor.storage.first, tensor.type,
                                       tensor.offset, tensor.shape, tensor.strides),
                            name);
    if (!added) weight->tied_to = first->second;
    index_.entries.push_back(*std::move(weight));
    content_.tensors.push_back(tensor);
    return {};
  }

  void add_fact(const PickleValue& value, const std::string& name) {
    if (index_.metadata.size() >= kMostMetadata) return;
    std::string text;
    if (const auto* flag = std::get_if<bool>(&value)) text = *flag ? "true" : "false";
    else if (const auto* integer = std::get_if<int64_t>(&value)) text = fmt::format("{}", *integer);
    else if (const auto* real = std::get_if<double>(&value)) text = fmt::format("{}", *real);
    else if (const auto* words = std::get_if<std::string>(&value)) text = words->substr(0, 200);
    else return;
    index_.metadata.emplace_back(name, std::move(text));
  }

  const Pickle& pickle_;
  WeightsIndex& index_;
  TorchFile& content_;
  int64_t visits_ = 0;
  std::set<std::string> names_;
  std::map<std::tuple<std::string, int64_t, ElementType, int64_t, Shape, std::vector<int64_t>>,
           std::string>
      places_;
};

// The name before "/data.pkl": torch calls it after the file or "archive".
Result<std::string> archive_root(const ZipDirectory& directory) {
  constexpr std::string_view kPickle = "/data.pkl";
  std::optional<std::string> root;
  for (const auto& [name, entry] : directory) {
    if (!name.ends_with(kPickle) || name.find('/') != name.size() - kPickle.size()) continue;
    if (root) return fail(Code::kDataLoss, "it has two entries data.pkl");
    root = name.substr(0, name.size() - kPickle.size());
  }
  if (!root) return fail(Code::kInvalidArgument, "it is a zip archive, but not one of torch.save");
  if (directory.contains(*root + "/constants.pkl")) {
    return fail_hint(Code::kUnimplemented, "save its state_dict()",
                     "it is a TorchScript program, not weights");
  }
  return *root;
}

Result<> open_zip(WeightsIndex& index, TorchFile& content) {
  index.format = "PyTorch";
  HW_ASSIGN_OR_RETURN(const ZipDirectory directory, read_zip_directory(content.file.bytes()));
  HW_ASSIGN_OR_RETURN(const std::string root, archive_root(directory));
  const auto order = directory.find(root + "/byteorder");
  if (order != directory.end() && !as_text(order->second.bytes).starts_with("little")) {
    return fail(Code::kUnimplemented, "it was saved on a machine of the other byte order");
  }
  const std::string data = root + "/data/";
  for (const auto& [name, entry] : directory) {
    if (name.starts_with(data)) {
      content.storages.emplace(name.substr(data.size()), Storage{entry.bytes, entry});
    }
  }
  const ZipEntry& entry = directory.find(root + "/data.pkl")->second;
  const auto in_entry = [&](Error error) {
    return in_context(std::move(error), root + "/data.pkl");
  };
  if (static_cast<int64_t>(entry.bytes.size()) > kLargestPickle) {
    return in_entry({Code::kUnimplemented, "a pickle of over 256 MiB is not read", {}, {}});
  }
  if (auto checked = check_zip_entry(entry); !checked) return in_entry(checked.error());
  ByteCursor in(entry.bytes);
  const auto pickle = read_pickle(in);
  if (!pickle) return in_entry(pickle.error());
  return Collector(*pickle, index, content).visit(pickle->root, "", 0);
}

// Element sizes of the storages that the pickle of the old form speaks of.
std::map<std::string, int64_t> storage_sizes(const Pickle& pickle) {
  std::map<std::string, int64_t> sizes;
  for (const PickleValue& value : pickle.values) {
    if (const auto* storage = std::get_if<PickleStorage>(&value))
      sizes.emplace(storage->key, element_bytes(storage->type));
  }
  return sizes;
}

// After the pickles: for every key, the number of elements and their bytes.
Result<> read_old_storages(ByteCursor& in, const Pickle& keys, const Pickle& object,
                           TorchFile& content) {
  const auto* list = keys.get<PickleSequence>(keys.root);
  if (list == nullptr) return fail(Code::kDataLoss, "its list of storages is damaged");
  const auto sizes = storage_sizes(object);
  for (const PickleId id : list->items) {
    const auto* key = keys.get<std::string>(id);
    const auto size = key == nullptr ? sizes.end() : sizes.find(*key);
    if (size == sizes.end()) return fail(Code::kDataLoss, "its list of storages is damaged");
    const size_t at = in.position();
    const auto elements = in.number<int64_t>();
    const auto bytes =
        elements && *elements >= 0 ? checked_mul(*elements, size->second) : std::nullopt;
    const auto data = bytes ? in.take(static_cast<uint64_t>(*bytes)) : std::nullopt;
    if (!data) {
      return fail_hint(Code::kDataLoss, "copy or download it again",
                       "storage '{}' at byte {} is not all there", *key, at);
    }
    if (!content.storages.emplace(*key, Storage{*data, std::nullopt}).second) {
      return fail(Code::kDataLoss, "it has two storages '{}'", *key);
    }
  }
  return {};
}

// Whether sys_info, the third pickle, says that numbers are stored low byte first.
bool is_little_endian(const Pickle& info) {
  const auto* dict = info.get<PickleDict>(info.root);
  if (dict == nullptr) return false;
  for (const auto& [key, value] : dict->items) {
    const auto* name = info.get<std::string>(key);
    const auto* flag = info.get<bool>(value);
    if (name != nullptr && *name == "little_endian") return flag != nullptr && *flag;
  }
  return true;
}

Result<> open_old(WeightsIndex& index, TorchFile& content) {
  index.format = "PyTorch (before 1.6)";
  ByteCursor in(content.file.bytes());
  HW_ASSIGN_OR_RETURN(const Pickle magic, read_pickle(in));
  const auto* number = magic.get<std::string>(magic.root);
  if (number == nullptr || *number != kOldMagic) {
    return fail_hint(Code::kInvalidArgument, "save it with torch.save or as safetensors",
                     "it is a Python pickle, but not one of torch.save");
  }
  HW_ASSIGN_OR_RETURN(const Pickle protocol, read_pickle(in));
  const auto* version = protocol.get<int64_t>(protocol.root);
  if (version == nullptr || *version != kOldProtocol) {
    return fail(Code::kUnimplemented, "its protocol is not {}", kOldProtocol);
  }
  HW_ASSIGN_OR_RETURN(const Pickle info, read_pickle(in));
  if (!is_little_endian(info)) {
    return fail(Code::kUnimplemented, "it was saved on a machine of the other byte order");
  }
  HW_ASSIGN_OR_RETURN(const Pickle object, read_pickle(in));
  HW_ASSIGN_OR_RETURN(const Pickle keys, read_pickle(in));
  HW_RETURN_IF_ERROR(read_old_storages(in, keys, object, content));
  return Collector(object, index, content).visit(object.root, "", 0);
}

}  // namespace

bool is_torch_file(std::span<const uint8_t> file) {
  const std::string_view text = as_text(file);
  if (text.starts_with("PK\x03\x04")) return true;
  return file.size() > 1 && file[0] == 0x80 && file[1] >= 2 && file[1] <= 5;
}

OpenedWeights open_torch_weights(FileSystem& fs, const std::string& path) {
  WeightsIndex index{"", path, {}, {}, {}};
  TorchFile content;
  HW_ASSIGN_OR_RETURN(content.file, fs.map(path));
  const bool zip = as_text(content.file.bytes()).starts_with("PK");
  auto opened = zip ? open_zip(index, content) : open_old(index, content);
  if (!opened) return in_context(std::move(opened).error(), path);
  return std::make_unique<TorchSource>(std::move(index), std::move(content));
}

}  // namespace headwater
