// From the names and shapes of a checkpoint to the model it is of: whose names they are, which
// family, which sizes, without a config.json; and whether a given config.json contradicts them.
//
// Two things cannot be seen. The number of attention heads: 64 wide each is assumed, as in all
// released BERT, ELECTRA and GPT-2 sizes, and said. The activation: the family's own is assumed. A
// config.json that is given decides both. Whether all parameters are there is for the caller to
// see, by parameter_types(). Nothing here reads a file or looks at values.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "models/name_rules.h"

namespace headwater {

struct NamedShape {
  std::string name;
  Shape shape;
};

enum class NameDialect {
  kTensorFlow,   // google's and OpenAI's variable names
  kHuggingFace,  // one model; our own state of one model has these names, too
  kNative,       // the ELECTRA pair under its two scopes
};
std::string_view dialect_name(NameDialect dialect);

// What a tensor of the checkpoint is.
struct DetectedTensor {
  enum class Role { kParameter, kMoment, kTied, kBuffer, kStep, kUnknown };
  std::string name;  // in the checkpoint
  Role role = Role::kUnknown;
  std::string canonical;  // of parameters and moments; of tied ones the parameter they repeat
  Shape shape;            // as under the canonical name
  TfMapping tf;           // of TensorFlow names: how the layout differs
};

// Where a size was seen.
struct SizeEvidence {
  std::string key;  // of config.json: "embedding_size"
  int64_t value = 0;
  std::string tensor;  // of the checkpoint
  Shape shape;
};

struct DetectedNetwork {
  std::string scope;  // "discriminator." and "generator." of the pair, else empty
  Model model;
  bool heads_assumed = false;  // nothing but the rule says how many heads there are
  std::vector<SizeEvidence> evidence;
};

struct DetectedCheckpoint {
  NameDialect dialect = NameDialect::kHuggingFace;
  NameFamily family = NameFamily::kBert;
  std::vector<DetectedNetwork> networks;     // of the pair up to two
  std::vector<DetectedTensor> tensors;       // as given
  std::optional<SlotStyle> slots;            // how moments are named, where there are any
  std::vector<std::string> unknown() const;  // names that the family does not have
};

// `where` (a file) goes into errors.
Result<DetectedCheckpoint> detect_checkpoint(std::span<const NamedShape> tensors,
                                             std::string_view where);

// The parameters of one network by their names in its model (parameter_types()), scope taken off.
// What the networks of a pair share stands in both: the generator's tables, or a whole encoder.
using NetworkTensors = std::map<std::string, const DetectedTensor*, std::less<>>;
NetworkTensors network_tensors(const DetectedCheckpoint& checkpoint, std::string_view scope);

// The model of a config.json, checked against what was seen: an error names every size that
// differs, with the tensor that shows it.
Result<Model> reconcile(const DetectedNetwork& network, const Json& config_json,
                        std::string_view config_where, std::string_view checkpoint_where);

}  // namespace headwater
