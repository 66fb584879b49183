#include "checkpoints/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <unordered_map>

namespace headwater {
namespace {

// Ours: a value takes some hundred bytes, and an instruction that makes one takes a single byte.
constexpr size_t kMostValues = 4'000'000;
constexpr size_t kMostDimensions = 64;
constexpr size_t kMostArguments = 16;

enum Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kBinFloat = 'G',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

struct TypeName {
  std::string_view storage, dtype;
  ElementType type;
};
using enum ElementType;
constexpr std::array<TypeName, 18> kTypes = {{
    {"FloatStorage", "float32", kF32},
    {"DoubleStorage", "float64", kF64},
    {"HalfStorage", "float16", kF16},
    {"BFloat16Storage", "bfloat16", kBF16},
    {"CharStorage", "int8", kI8},
    {"ShortStorage", "int16", kI16},
    {"IntStorage", "int32", kI32},
    {"LongStorage", "int64", kI64},
    {"ByteStorage", "uint8", kU8},
    {"BoolStorage", "bool", kBool},
    {"ComplexFloatStorage", "complex64", kC64},
    {"ComplexDoubleStorage", "complex128", kC128},
    {"", "uint16", kU16},
    {"", "uint32", kU32},
    {"", "uint64", kU64},
    {"", "float8_e4m3fn", kF8E4M3},
    {"", "float8_e5m2", kF8E5M2},
    {"", "float8_e8m0fnu", kF8E8M0},
}};

std::optional<PickleGlobal> find_global(std::string_view module, std::string_view name) {
  using Kind = PickleGlobal::Kind;
  if (module == "collections" && name == "OrderedDict") return PickleGlobal{Kind::kOrderedDict};
  if ((module == "builtins" || module == "__builtin__") && name == "set")
    return PickleGlobal{Kind::kSet};
  if (module == "torch._utils") {
    if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2")
      return PickleGlobal{Kind::kRebuildTensor};
    if (name == "_rebuild_tensor_v3") return PickleGlobal{Kind::kRebuildTensorV3};
    if (name == "_rebuild_parameter") return PickleGlobal{Kind::kRebuildParameter};
    return std::nullopt;
  }
  if (module == "torch.storage" && name == "UntypedStorage")
    return PickleGlobal{Kind::kStorage, kU8};
  if (module != "torch") return std::nullopt;
  if (name == "Size") return PickleGlobal{Kind::kIdentity};
  if (name == "UntypedStorage") return PickleGlobal{Kind::kStorage, kU8};
  for (const TypeName& known : kTypes) {
    if (!known.storage.empty() && name == known.storage)
      return PickleGlobal{Kind::kStorage, known.type};
    if (name == known.dtype) return PickleGlobal{Kind::kDType, known.type};
  }
  return std::nullopt;
}

// The machine that a pickle is a program for: a stack, a memo, and marks in the stack.
class Unpickler {
 public:
  explicit Unpickler(ByteCursor& in) : in_(in) { pickle_.values = {PickleNone{}, false, true}; }

  Result<Pickle> run() {
    while (true) {
      start_ = in_.position();
      const auto op = in_.number<uint8_t>();
      if (!op) return damaged("it ends without its last instruction");
      if (*op == kStop) break;
      HW_RETURN_IF_ERROR(step(*op));
      if (pickle_.values.size() > kMostValues) {
        return fail(Code::kUnimplemented, "a pickle of over {} values is not read", kMostValues);
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) return damaged("its stack is not empty at the end");
    pickle_.root = stack_.front();
    return std::move(pickle_);
  }

 private:
  static constexpr PickleId kNoneId = 0, kFalseId = 1, kTrueId = 2;

  tl::unexpected<Error> damaged(std::string_view what) const {
    return fail(Code::kDataLoss, "the pickle is damaged at byte {}: {}", start_, what);
  }
  tl::unexpected<Error> cut() const { return damaged("an instruction is cut"); }

  PickleId make(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    return static_cast<PickleId>(pickle_.values.size() - 1);
  }
  Result<> push(PickleId id) {
    stack_.push_back(id);
    return {};
  }
  Result<> push_new(PickleValue value) { return push(make(std::move(value))); }

  // The stack never gives what is below the last mark.
  Result<PickleId> pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return damaged("the stack is empty");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  Result<std::vector<PickleId>> pop_to_mark() {
    if (marks_.empty()) return damaged("there is no mark");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleId> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  template <class T>
  Result<T*> top() {
    HW_ASSIGN_OR_RETURN(const PickleId id, pop());
    HW_RETURN_IF_ERROR(push(id));
    T* value = std::get_if<T>(&pickle_.values[id]);
    if (value == nullptr) return damaged("it fills what is no container of that kind");
    return value;
  }

  Result<> step(uint8_t op);
  Result<> literal(uint8_t op);
  Result<> container(uint8_t op);
  Result<> fill(uint8_t op);
  Result<> memo(uint8_t op);
  Result<> call(uint8_t op);

  template <class Size>
  Result<> text() {
    const auto size = in_.number<Size>();
    const auto bytes = size ? in_.take(*size) : std::nullopt;
    if (!bytes) return cut();
    return push_new(std::string(as_text(*bytes)));
  }
  template <class Int>
  Result<> integer() {
    const auto value = in_.number<Int>();
    if (!value) return cut();
    return push_new(static_cast<int64_t>(*value));
  }
  Result<> long1();
  Result<> real();
  Result<> tuple(size_t count);
  Result<> remember(uint64_t slot);
  Result<> recall(std::optional<uint64_t> slot);
  Result<> global(std::string_view module, std::string_view name);
  Result<> stack_global();
  Result<> storage();
  Result<PickleId> rebuild(const PickleGlobal& function, const PickleSequence& arguments);
  Result<PickleId> ordered_dict(const PickleSequence& arguments);
  Result<PickleId> tensor(const PickleSequence& arguments, bool v3);
  std::optional<std::vector<int64_t>> numbers(PickleId id) const;

  template <class T>
  const T* argument(const PickleSequence& arguments, size_t i) const {
    return i < arguments.items.size() ? pickle_.get<T>(arguments.items[i]) : nullptr;
  }

  ByteCursor& in_;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint64_t, PickleId> memo_;
  size_t start_ = 0;  // of the present instruction
  size_t copied_items_ = 0;
};

Result<> Unpickler::step(uint8_t op) {
  switch (op) {
    case kProto: return in_.skip(1) ? Result<>() : cut();
    case kFrame: return in_.skip(8) ? Result<>() : cut();
    case kMark: return marks_.push_back(stack_.size()), Result<>();
    case kPop: {
      if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back(), Result<>();
      HW_RETURN_IF_ERROR(pop());
      return {};
    }
    case kNone:
    case kNewTrue:
    case kNewFalse:
    case kBinInt:
    case kBinInt1:
    case kBinInt2:
    case kLong1:
    case kBinFloat:
    case kBinUnicode:
    case kShortBinUnicode:
    case kBinString:
    case kShortBinString:
    case kBinBytes:
    case kShortBinBytes: return literal(op);
    case kEmptyDict:
    case kEmptyList:
    case kEmptySet:
    case kEmptyTuple:
    case kTuple:
    case kTuple1:
    case kTuple2:
    case kTuple3: return container(op);
    case kAppend:
    case kAppends:
    case kAddItems:
    case kSetItem:
    case kSetItems: return fill(op);
    case kBinPut:
    case kLongBinPut:
    case kMemoize:
    case kBinGet:
    case kLongBinGet: return memo(op);
    case kGlobal:
    case kStackGlobal:
    case kBinPersId:
    case kReduce:
    case kNewObj:
    case kBuild: return call(op);
    default: return damaged(fmt::format("instruction 0x{:02x} is none of a state dict's", op));
  }
}

Result<> Unpickler::literal(uint8_t op) {
  switch (op) {
    case kNone: return push(kNoneId);
    case kNewTrue: return push(kTrueId);
    case kNewFalse: return push(kFalseId);
    case kBinInt: return integer<int32_t>();
    case kBinInt1: return integer<uint8_t>();
    case kBinInt2: return integer<uint16_t>();
    case kLong1: return long1();
    case kBinFloat: return real();
    case kShortBinUnicode:
    case kShortBinString:
    case kShortBinBytes: return text<uint8_t>();
    default: return text<uint32_t>();
  }
}

Result<> Unpickler::long1() {
  const auto size = in_.number<uint8_t>();
  const auto bytes = size ? in_.take(*size) : std::nullopt;
  if (!bytes) return cut();
  if (bytes->size() > 8) {  // the magic number of the old form; kept as its bytes
    return push_new(std::string(as_text(*bytes)));
  }
  uint64_t value = !bytes->empty() && bytes->back() >= 0x80 ? ~uint64_t{0} : 0;
  for (size_t i = bytes->size(); i-- > 0;) value = value << 8 | (*bytes)[i];
  return push_new(static_cast<int64_t>(value));
}

Result<> Unpickler::real() {  // the one big-endian number
  const auto bits = in_.number<uint64_t>();
  if (!bits) return cut();
  return push_new(std::bit_cast<double>(__builtin_bswap64(*bits)));
}

Result<> Unpickler::tuple(size_t count) {
  PickleSequence items;
  items.items.resize(count);
  for (size_t i = count; i-- > 0;) {
    HW_ASSIGN_OR_RETURN(items.items[i], pop());
  }
  return push_new(std::move(items));
}

Result<> Unpickler::container(uint8_t op) {
  switch (op) {
    case kEmptyDict: return push_new(PickleDict{});
    case kTuple1: return tuple(1);
    case kTuple2: return tuple(2);
    case kTuple3: return tuple(3);
    case kTuple: {
      HW_ASSIGN_OR_RETURN(auto items, pop_to_mark());
      return push_new(PickleSequence{std::move(items)});
    }
    default: return push_new(PickleSequence{});
  }
}

Result<> Unpickler::fill(uint8_t op) {
  std::vector<PickleId> items;
  if (op == kAppend || op == kSetItem) {
    items.resize(op == kAppend ? 1 : 2);
    for (size_t i = items.size(); i-- > 0;) {
      HW_ASSIGN_OR_RETURN(items[i], pop());
    }
  } else {
    HW_ASSIGN_OR_RETURN(items, pop_to_mark());
  }
  if (op == kSetItem || op == kSetItems) {
    if (items.size() % 2 != 0) return damaged("a key has no value");
    HW_ASSIGN_OR_RETURN(PickleDict * dict, top<PickleDict>());
    for (size_t i = 0; i < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
    return {};
  }
  HW_ASSIGN_OR_RETURN(PickleSequence * list, top<PickleSequence>());
  list->items.insert(list->items.end(), items.begin(), items.end());
  return {};
}

Result<> Unpickler::remember(uint64_t slot) {
  if (stack_.empty()) return damaged("the stack is empty");
  memo_[slot] = stack_.back();
  return {};
}

Result<> Unpickler::recall(std::optional<uint64_t> slot) {
  if (!slot) return cut();
  const auto found = memo_.find(*slot);
  if (found == memo_.end()) return damaged("it recalls what it did not store");
  return push(found->second);
}

Result<> Unpickler::memo(uint8_t op) {
  switch (op) {
    case kMemoize: return remember(memo_.size());
    case kBinGet: return recall(in_.number<uint8_t>());
    case kLongBinGet: return recall(in_.number<uint32_t>());
    case kBinPut: {
      const auto slot = in_.number<uint8_t>();
      return slot ? remember(*slot) : cut();
    }
    default: {
      const auto slot = in_.number<uint32_t>();
      return slot ? remember(*slot) : cut();
    }
  }
}

Result<> Unpickler::global(std::string_view module, std::string_view name) {
  const auto found = find_global(module, name);
  if (!found) {
    return fail_hint(Code::kInvalidArgument, "save a plain state dict: model.state_dict()",
                     "the pickle asks for {}.{} at byte {}, which is refused: only tensors are "
                     "read, and nothing is run",
                     module.substr(0, 200), name.substr(0, 200), start_);
  }
  return push_new(*found);
}

Result<> Unpickler::stack_global() {
  HW_ASSIGN_OR_RETURN(const PickleId name_id, pop());
  HW_ASSIGN_OR_RETURN(const PickleId module_id, pop());
  const auto* name = pickle_.get<std::string>(name_id);
  const auto* module = pickle_.get<std::string>(module_id);
  if (name == nullptr || module == nullptr) return damaged("the name of a function is no text");
  return global(std::string(*module), std::string(*name));
}

// ("storage", type, key, location, elements[, view]): bytes outside of the pickle.
Result<> Unpickler::storage() {
  HW_ASSIGN_OR_RETURN(const PickleId id, pop());
  const auto* tuple = pickle_.get<PickleSequence>(id);
  if (tuple == nullptr) return damaged("a storage is not described");
  const auto* type = argument<PickleGlobal>(*tuple, 1);
  const auto* key = argument<std::string>(*tuple, 2);
  const auto* elements = argument<int64_t>(*tuple, 4);
  if (type == nullptr || type->kind != PickleGlobal::Kind::kStorage || key == nullptr ||
      elements == nullptr || *elements < 0)
    return damaged("a storage is not described");
  PickleStorage storage{*key, type->type, *elements, 0};
  // Before torch 1.0 a storage could be a part of another: (key of the part, first, elements).
  if (const auto* view = argument<PickleSequence>(*tuple, 5)) {
    const auto* first = argument<int64_t>(*view, 1);
    const auto* count = argument<int64_t>(*view, 2);
    if (first == nullptr || count == nullptr || *first < 0 || *count < 0)
      return damaged("a view of a storage is not described");
    storage.first = *first;
    storage.elements = *count;
  }
  return push_new(std::move(storage));
}

std::optional<std::vector<int64_t>> Unpickler::numbers(PickleId id) const {
  const auto* sequence = pickle_.get<PickleSequence>(id);
  if (sequence == nullptr || sequence->items.size() > kMostDimensions) return std::nullopt;
  std::vector<int64_t> values;
  for (const PickleId item : sequence->items) {
    const auto* value = pickle_.get<int64_t>(item);
    if (value == nullptr || *value < 0) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Result<PickleId> Unpickler::tensor(const PickleSequence& arguments, bool v3) {
  const auto* storage = argument<PickleStorage>(arguments, 0);
  const auto* offset = argument<int64_t>(arguments, 1);
  const auto shape = arguments.items.size() > 3 ? numbers(arguments.items[2]) : std::nullopt;
  const auto strides = shape ? numbers(arguments.items[3]) : std::nullopt;
  if (storage == nullptr || offset == nullptr || *offset < 0 || !strides ||
      strides->size() != shape->size())
    return damaged("a tensor is not described");
  PickleTensor tensor{*storage, storage->type, *offset, *shape, *strides};
  if (v3) {
    const auto* dtype = argument<PickleGlobal>(arguments, 6);
    if (dtype == nullptr || dtype->kind != PickleGlobal::Kind::kDType)
      return damaged("the type of a tensor is not described");
    tensor.type = dtype->type;
  }
  return make(std::move(tensor));
}

// OrderedDict(), or OrderedDict([(key, value), ...]).
Result<PickleId> Unpickler::ordered_dict(const PickleSequence& arguments) {
  PickleDict dict;
  if (!arguments.items.empty()) {
    const auto* pairs = argument<PickleSequence>(arguments, 0);
    if (pairs == nullptr) return damaged("a dictionary is made of something else");
    copied_items_ += pairs->items.size();  // the same list may be asked for again and again
    if (copied_items_ > kMostValues) return damaged("its dictionaries are too large");
    for (const PickleId id : pairs->items) {
      const auto* pair = pickle_.get<PickleSequence>(id);
      if (pair == nullptr || pair->items.size() != 2)
        return damaged("a dictionary is made of something else");
      dict.items.emplace_back(pair->items[0], pair->items[1]);
    }
  }
  return make(std::move(dict));
}

Result<PickleId> Unpickler::rebuild(const PickleGlobal& function, const PickleSequence& arguments) {
  using Kind = PickleGlobal::Kind;
  switch (function.kind) {
    case Kind::kOrderedDict: return ordered_dict(arguments);
    case Kind::kRebuildTensor: return tensor(arguments, false);
    case Kind::kRebuildTensorV3: return tensor(arguments, true);
    case Kind::kRebuildParameter:
      if (argument<PickleTensor>(arguments, 0) == nullptr)
        return damaged("a parameter is no tensor");
      return arguments.items[0];
    case Kind::kSet:
    case Kind::kIdentity:
      if (arguments.items.empty()) return make(PickleSequence{});
      return arguments.items[0];
    default: return damaged("it calls what is no function");
  }
}

Result<> Unpickler::call(uint8_t op) {
  switch (op) {
    case kGlobal: {
      const auto module = in_.line();
      const auto name = module ? in_.line() : std::nullopt;
      if (!name) return cut();
      return global(*module, *name);
    }
    case kStackGlobal: return stack_global();
    case kBinPersId: return storage();
    case kBuild: {  // attributes of a dictionary: _metadata of state_dict(), of no use here
      HW_RETURN_IF_ERROR(pop());
      HW_RETURN_IF_ERROR(top<PickleDict>());
      return {};
    }
    default: {  // REDUCE, NEWOBJ
      HW_ASSIGN_OR_RETURN(const PickleId arguments_id, pop());
      HW_ASSIGN_OR_RETURN(const PickleId function_id, pop());
      const auto* function = pickle_.get<PickleGlobal>(function_id);
      const auto* arguments = pickle_.get<PickleSequence>(arguments_id);
      if (function == nullptr || arguments == nullptr)
        return damaged("it calls what is no function");
      if (arguments->items.size() > kMostArguments) return damaged("a call has too many arguments");
      // Copies: making a value moves the others.
      HW_ASSIGN_OR_RETURN(const PickleId made,
                          rebuild(PickleGlobal(*function), PickleSequence(*arguments)));
      return push(made);
    }
  }
}

}  // namespace

Result<Pickle> read_pickle(ByteCursor& in) { return Unpickler(in).run(); }

}  // namespace headwater
