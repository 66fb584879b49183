// A TensorFlow checkpoint with the names and shapes of KoELECTRA-Base v3: generator and
// discriminator, 122,830,009 values in 400 variables, random; with slots three times as many.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "checkpoints/tf_bundle_writer.h"
#include "models/detect.h"

namespace headwater {

inline ElectraConfig koelectra_base(int64_t hidden_size) {
  ElectraConfig config;
  config.vocab_size = 35000;
  config.embedding_size = 768;
  config.hidden_size = hidden_size;
  config.num_attention_heads = hidden_size / 64;
  config.intermediate_size = 4 * hidden_size;
  return config;
}

// Values of a normal weight's size; a hash of place and index, quick rather than good.
inline std::vector<float> koelectra_values(int64_t count, uint64_t tensor, bool positive) {
  std::vector<float> values(static_cast<size_t>(count));
  uint64_t state = tensor * 0x9e3779b97f4a7c15u + 1;
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto unit = static_cast<float>(state >> 40) / 16777216.0f;  // [0, 1)
    value = positive ? unit * 1e-4f : (unit - 0.5f) * 0.07f;
  }
  return values;
}

// Makes `<directory>/model.ckpt-<step>` and the file `checkpoint`. Returns the prefix.
inline Result<std::string> write_koelectra(FileSystem& fs, const std::string& directory,
                                           int64_t step, bool with_slots) {
  const NameRules rules(NameFamily::kElectraPair);
  std::map<std::string, Shape> variables;
  for (const auto& [scope, architecture, hidden] :
       {std::tuple("discriminator.", Architecture::kElectraForPreTraining, int64_t{768}),
        std::tuple("generator.", Architecture::kElectraForMaskedLM, int64_t{256})}) {
    HW_ASSIGN_OR_RETURN(const ParameterTypes types,
                        parameter_types({architecture, koelectra_base(hidden), {}}));
    for (const ParameterType& parameter : types.parameters) {
      const bool shared = parameter.name.starts_with("electra.embeddings.");
      const auto mapped = rules.to_tf((shared ? "discriminator." : scope) + parameter.name);
      if (!mapped) return fail(Code::kInternal, "no name for {}", parameter.name);
      HW_ASSIGN_OR_RETURN(variables[mapped->name], tf_shape(*mapped, parameter.type.shape));
    }
  }
  if (with_slots) {
    for (const auto& [name, shape] : std::map(variables)) {
      variables[name + "/adam_m"] = shape;
      variables[name + "/adam_v"] = shape;
    }
  }
  const std::string prefix = join_path(directory, fmt::format("model.ckpt-{}", step));
  HW_RETURN_IF_ERROR(fs.make_directories(directory));
  HW_ASSIGN_OR_RETURN(TfBundleWriter writer, TfBundleWriter::create(fs, prefix));
  uint64_t number = 0;
  for (const auto& [name, shape] : variables) {
    const auto values = koelectra_values(element_count(shape), ++number, name.ends_with("/adam_v"));
    HW_RETURN_IF_ERROR(
        writer.add(name, ElementType::kF32, shape,
                   {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}));
  }
  const auto bytes = std::bit_cast<std::array<uint8_t, 8>>(step);
  HW_RETURN_IF_ERROR(writer.add("global_step", ElementType::kI64, {}, bytes));
  HW_RETURN_IF_ERROR(writer.commit());
  HW_RETURN_IF_ERROR(write_tf_state(fs, prefix));
  return prefix;
}

}  // namespace headwater
