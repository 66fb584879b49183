#include "checkpoints/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/checked.h"

namespace headwater {
namespace {

constexpr size_t kMaxRank = 64;  // ours: a longer shape is damage, and would flood the message

// Element types in the order in which the format's own writer ranks them: rising alignment.
struct HeaderType {
  std::string_view name;
  int64_t bytes;
  std::optional<DType> dtype;
};
constexpr std::array<HeaderType, 17> kTypes = {{
    {"BOOL", 1, DType::kPred},
    {"U8", 1, DType::kU8},
    {"I8", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
    {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},
    {"F16", 2, DType::kF16},
    {"BF16", 2, DType::kBF16},
    {"I32", 4, DType::kI32},
    {"U32", 4, DType::kU32},
    {"F32", 4, DType::kF32},
    {"C64", 8, std::nullopt},
    {"F64", 8, DType::kF64},
    {"I64", 8, DType::kI64},
    {"U64", 8, std::nullopt},
}};

const HeaderType* find_type(std::string_view name) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

// Receives the tokens of the header. A flat machine: the format has three levels and no more.
class HeaderSax {
 public:
  struct Entry {
    std::optional<std::string> type;
    std::optional<std::vector<int64_t>> shape, offsets;
  };

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) { return unexpected("a fraction"); }
  bool binary(nlohmann::json::binary_t&) { return unexpected("binary data"); }

  bool number_unsigned(uint64_t value) {
    if (state_ != State::kNumbers) return unexpected("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return unexpected("a number beyond 63 bits");
    numbers_->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(std::string& text) {
    if (state_ == State::kMetadata) {
      metadata[key_] = text;
    } else if (state_ == State::kEntry && key_ == "dtype") {
      entry_->type = text;
    } else {
      return unexpected("a string");
    }
    return true;
  }

  bool start_object(size_t) {
    if (state_ == State::kStart) {
      state_ = State::kRoot;
    } else if (state_ == State::kRoot && name_ == "__metadata__") {
      state_ = State::kMetadata;
    } else if (state_ == State::kRoot) {
      const auto [place, added] = index_.try_emplace(name_, names.size());
      if (added) names.push_back(name_), entries.emplace_back();
      entry_ = &entries[place->second];
      *entry_ = {};  // a name given twice means its last entry
      state_ = State::kEntry;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(std::string& text) {
    key_ = text;
    if (state_ == State::kRoot) name_ = text;
    if (state_ == State::kEntry && text != "dtype" && text != "shape" && text != "data_offsets")
      return unexpected("an unknown key");
    return true;
  }

  bool end_object() {
    state_ = state_ == State::kRoot ? State::kEnd : State::kRoot;
    return true;
  }

  bool start_array(size_t) {
    if (state_ != State::kEntry || key_ == "dtype") return unexpected("an array");
    auto& list = key_ == "shape" ? entry_->shape : entry_->offsets;
    numbers_ = &list.emplace();
    state_ = State::kNumbers;
    return true;
  }

  bool end_array() {
    state_ = State::kEntry;
    return true;
  }

  template <class Exception>
  bool parse_error(size_t position, const std::string&, const Exception&) {
    error = fmt::format("its header is not valid JSON at byte {}", position);
    return false;
  }

  std::vector<std::string> names;
  std::vector<Entry> entries;  // beside `names`
  SafetensorsMetadata metadata;
  std::string error;

 private:
  enum class State { kStart, kRoot, kMetadata, kEntry, kNumbers, kEnd };

  bool unexpected(std::string_view what) {
    std::string place = "at the top of its header";
    if (state_ != State::kStart && !name_.empty()) {
      place = fmt::format("in its header, at '{}'", name_.substr(0, 200));
      if (key_ != name_) place += fmt::format(", '{}'", key_.substr(0, 200));
    }
    error = fmt::format("{} is not allowed {}", what, place);
    return false;
  }

  State state_ = State::kStart;
  std::string name_, key_;
  Entry* entry_ = nullptr;
  std::vector<int64_t>* numbers_ = nullptr;
  std::unordered_map<std::string, size_t> index_;
};

Result<TensorEntry> check_entry(std::string name, HeaderSax::Entry parsed) {
  const auto bad = [&](const std::string& what) {
    return fail(Code::kDataLoss, "tensor '{}': {}", name, what);
  };
  if (!parsed.type || !parsed.shape || !parsed.offsets)
    return bad("its entry must have dtype, shape and data_offsets");
  const HeaderType* type = find_type(*parsed.type);
  if (type == nullptr) {
    return bad(fmt::format("unknown element type '{}'", parsed.type->substr(0, 40)));
  }
  if (parsed.shape->size() > kMaxRank)
    return bad(
        fmt::format("it has {} dimensions, over the limit of {}", parsed.shape->size(), kMaxRank));
  if (parsed.offsets->size() != 2) return bad("data_offsets must be two numbers");
  const int64_t begin = (*parsed.offsets)[0], end = (*parsed.offsets)[1];
  if (end < begin) return bad(fmt::format("its data ends at byte {} before it starts", end));
  const auto count = checked_element_count(*parsed.shape);
  const auto bytes = count ? checked_mul(*count, type->bytes) : std::nullopt;
  if (!bytes) return bad("its shape is too large");
  if (*bytes != end - begin) {
    return bad(fmt::format("shape {} of {} takes {} bytes, its data_offsets hold {}",
                           shape_text(*parsed.shape), type->name, *bytes, end - begin));
  }
  return TensorEntry{std::move(name),          type->name, type->dtype,
                     std::move(*parsed.shape), begin,      end};
}

void append_json_string(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text) {
  HeaderSax sax;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &sax)) {
    return fail(Code::kDataLoss, "{}", sax.error);
  }
  SafetensorsHeader header;
  header.metadata = std::move(sax.metadata);
  header.entries.reserve(sax.names.size());
  for (size_t i = 0; i < sax.names.size(); ++i) {
    HW_ASSIGN_OR_RETURN(TensorEntry entry,
                        check_entry(std::move(sax.names[i]), std::move(sax.entries[i])));
    header.entries.push_back(std::move(entry));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (const TensorEntry& entry : header.entries) {
    if (entry.begin != header.data_size) {
      return fail(Code::kDataLoss, "tensor '{}' starts at data byte {}, {} byte {}", entry.name,
                  entry.begin,
                  entry.begin > header.data_size ? "which leaves a hole after"
                                                 : "inside the tensor that ends at",
                  header.data_size);
    }
    header.data_size = entry.end;
  }
  return header;
}

Result<std::string> format_safetensors_header(const std::vector<TensorPlan>& tensors,
                                              const SafetensorsMetadata& metadata) {
  std::string json = "{";
  if (!metadata.empty()) json += "\"__metadata__\":" + nlohmann::json(metadata).dump();
  int64_t offset = 0;
  for (const TensorPlan& tensor : tensors) {
    if (json.size() > 1) json += ',';
    append_json_string(json, tensor.name);
    const int64_t bytes = element_count(tensor.shape) * element_bytes(tensor.type);
    json += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        safetensors_name(tensor.type), fmt::join(tensor.shape, ","), offset,
                        offset + bytes);
    offset += bytes;
  }
  json += '}';
  json.resize(static_cast<size_t>(round_up(static_cast<int64_t>(json.size()), 8)), ' ');
  if (static_cast<int64_t>(json.size()) > kMaxSafetensorsHeader) {
    return fail(Code::kInvalidArgument, "a safetensors header of {} bytes is over the limit of {}",
                json.size(), kMaxSafetensorsHeader);
  }
  std::string out;
  for (uint64_t n = json.size(), i = 0; i < 8; ++i, n >>= 8) out += static_cast<char>(n & 0xff);
  return out + json;
}

int safetensors_rank(ElementType type) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& known) {
    return known.name == safetensors_name(type);
  });
  return found == kTypes.end() ? -1 : static_cast<int>(found - kTypes.begin());
}

}  // namespace headwater
