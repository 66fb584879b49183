#include "batches/pretrain_example.h"

#include <algorithm>
#include <array>

namespace headwater {
namespace {

constexpr std::array<const char*, 3> kKeys = {"input_ids", "input_mask", "segment_ids"};

// Records shorter than the model's length, as long as all three features agree.
Result<> fill_up(std::vector<ParsedFeature>& features, int64_t length, int32_t pad_id) {
  for (size_t i = 0; i < features.size(); ++i) {
    auto& values = features[i].ints;
    if (values.empty())
      return fail_hint(Code::kInvalidArgument, "build the records again with this feature",
                       "feature '{}' is missing or empty", kKeys[i]);
    if (static_cast<int64_t>(values.size()) > length)
      return fail_hint(Code::kInvalidArgument,
                       "the record was written for a greater length than it is read with",
                       "feature '{}' has {} values, expected at most {}", kKeys[i], values.size(),
                       length);
    if (values.size() != features[0].ints.size() && i > 0)
      return fail(Code::kInvalidArgument, "feature '{}' has {} values, but 'input_ids' has {}",
                  kKeys[i], values.size(), features[0].ints.size());
  }
  features[0].ints.resize(static_cast<size_t>(length), pad_id);
  features[1].ints.resize(static_cast<size_t>(length), 0);
  features[2].ints.resize(static_cast<size_t>(length), 0);
  return {};
}

// Values outside [0, bound) would index outside the model's tables.
Result<> check_range(const char* key, std::span<const int32_t> values, int64_t bound,
                     const char* hint) {
  uint32_t largest = 0;
  for (const int32_t value : values) largest = std::max(largest, static_cast<uint32_t>(value));
  if (static_cast<int64_t>(largest) < bound) return {};
  const auto bad = std::find_if(values.begin(), values.end(), [&](int32_t value) {
    return static_cast<int64_t>(static_cast<uint32_t>(value)) >= bound;
  });
  return fail_hint(Code::kOutOfRange, hint, "feature '{}': value {} at position {} is not below {}",
                   key, *bad, bad - values.begin(), bound);
}

}  // namespace

Result<PretrainExampleReader> PretrainExampleReader::create(int64_t max_seq_length, bool pad,
                                                            int64_t vocab_size, int32_t pad_id) {
  std::vector<FeatureSpec> specs;
  for (const char* key : kKeys) {
    FeatureSpec spec;
    spec.key = key;
    spec.layout = pad ? FeatureSpec::Layout::kVariable : FeatureSpec::Layout::kFixed;
    spec.length = max_seq_length;
    specs.push_back(std::move(spec));
  }
  HW_ASSIGN_OR_RETURN(ExampleParser parser, ExampleParser::create(std::move(specs)));
  PretrainExampleReader reader(std::move(parser), max_seq_length, vocab_size);
  reader.pad_ = pad;
  reader.pad_id_ = pad_id;
  return reader;
}

Result<> PretrainExampleReader::read(std::string_view payload, const PretrainRow& row) const {
  thread_local std::vector<ParsedFeature> features;
  HW_RETURN_IF_ERROR(parser_.parse(payload, features));
  if (pad_) HW_RETURN_IF_ERROR(fill_up(features, max_seq_length_, pad_id_));
  const std::array<std::span<int32_t>, 3> out = {row.input_ids, row.input_mask, row.segment_ids};
  for (size_t i = 0; i < out.size(); ++i)
    HW_RETURN_IF_ERROR(narrow_to_int32(kKeys[i], features[i].ints, out[i]));
  const int64_t bound = vocab_size_ > 0 ? vocab_size_ : int64_t{INT32_MAX} + 1;
  HW_RETURN_IF_ERROR(
      check_range(kKeys[0], out[0], bound, "were the records built with another vocabulary?"));
  HW_RETURN_IF_ERROR(check_range(kKeys[1], out[1], 2, "a mask holds 0 and 1"));
  return check_range(kKeys[2], out[2], 2, "ELECTRA knows the segments 0 and 1");
}

Result<> PretrainExampleReader::check(std::string_view payload) const {
  thread_local std::vector<int32_t> scratch;
  const auto length = static_cast<size_t>(max_seq_length_);
  scratch.resize(3 * length);
  const std::span all(scratch);
  return read(payload,
              {all.first(length), all.subspan(length, length), all.subspan(2 * length, length)});
}

}  // namespace headwater
