#include "tokens/encoder.h"

#include <algorithm>
#include <utility>

namespace headwater {
namespace {

// Lengths that two texts keep when `limit` tokens are left for both.
std::pair<int64_t, int64_t> longest_first(int64_t first, int64_t second, int64_t limit) {
  const bool swapped = first > second;
  int64_t shorter = std::min(first, second);
  int64_t longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

Result<> truncate(std::vector<int32_t>& ids, int64_t surplus, std::string_view which) {
  if (surplus > static_cast<int64_t>(ids.size())) {
    return fail_hint(Code::kInvalidArgument, "raise max_length or truncate longest first",
                     "the {} text has {} tokens, {} too few to make the input fit", which,
                     ids.size(), surplus - static_cast<int64_t>(ids.size()));
  }
  ids.resize(ids.size() - static_cast<size_t>(surplus));
  return {};
}

}  // namespace

Result<Encoder> Encoder::create(Tokenizer tokenizer) {
  HW_ASSIGN_OR_RETURN(const SpecialIds special, tokenizer.vocabulary().special_ids());
  return Encoder(std::move(tokenizer), special);
}

Result<Encoding> Encoder::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<int32_t> ids;
  tokenizer_.append_ids(text, ids);
  return assemble(std::move(ids), std::nullopt, options);
}

Result<Encoding> Encoder::encode_pair(std::string_view first, std::string_view second,
                                      const EncodeOptions& options) const {
  std::vector<int32_t> a, b;
  tokenizer_.append_ids(first, a);
  tokenizer_.append_ids(second, b);
  return assemble(std::move(a), std::move(b), options);
}

Result<Encoding> Encoder::assemble(std::vector<int32_t> first,
                                   std::optional<std::vector<int32_t>> second,
                                   const EncodeOptions& options) const {
  const int64_t specials = second ? 3 : 2;
  const auto total = [&] {
    return specials + static_cast<int64_t>(first.size() + (second ? second->size() : 0));
  };
  const int64_t limit = options.max_length;
  if (limit != 0 && options.truncation != Truncation::kNone && total() > limit) {
    if (limit < specials) {
      return fail(Code::kInvalidArgument, "max_length {} leaves no room beside {} special tokens",
                  limit, specials);
    }
    const int64_t surplus = total() - limit;
    if (options.truncation == Truncation::kOnlySecond && second) {
      HW_RETURN_IF_ERROR(truncate(*second, surplus, "second"));
    } else if (options.truncation == Truncation::kLongestFirst && second) {
      const auto [a, b] = longest_first(static_cast<int64_t>(first.size()),
                                        static_cast<int64_t>(second->size()), limit - specials);
      first.resize(std::min(first.size(), static_cast<size_t>(a)));
      second->resize(std::min(second->size(), static_cast<size_t>(b)));
    } else {
      HW_RETURN_IF_ERROR(truncate(first, surplus, "first"));
    }
  }
  Encoding out;
  const auto add = [&](int32_t id, int32_t type) {
    out.input_ids.push_back(id);
    out.token_type_ids.push_back(type);
  };
  add(special_.cls, 0);
  for (const int32_t id : first) add(id, 0);
  add(special_.sep, 0);
  if (second) {
    for (const int32_t id : *second) add(id, 1);
    add(special_.sep, 1);
  }
  out.attention_mask.assign(out.input_ids.size(), 1);
  if (options.pad && static_cast<int64_t>(out.input_ids.size()) < limit) {
    const size_t length = static_cast<size_t>(limit);
    out.input_ids.resize(length, special_.pad);
    out.token_type_ids.resize(length, 0);
    out.attention_mask.resize(length, 0);
  }
  return out;
}

}  // namespace headwater
