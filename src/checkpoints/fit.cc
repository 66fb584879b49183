#include "checkpoints/fit.h"

#include <set>

namespace headwater {
namespace {

constexpr size_t kShown = 5;  // names of a kind in a message

template <class Items, class Text>
void append_kind(std::string& out, const char* kind, const Items& items, Text text) {
  if (items.empty()) return;
  out += fmt::format("{}{} {}: ", out.empty() ? "" : "; ", items.size(), kind);
  for (size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    if (i > 0) out += ", ";
    out += text(items[i]);
  }
  if (items.size() > kShown) out += fmt::format(" and {} more", items.size() - kShown);
}

}  // namespace

std::string FitReport::to_string() const {
  std::string out;
  append_kind(out, "of another shape", mismatched, [](const Mismatch& m) {
    if (m.expected.dtype == m.found.dtype) {
      return fmt::format("{} {} in the checkpoint, {} in the model", m.expected.name,
                         shape_text(m.found.shape), shape_text(m.expected.shape));
    }
    return fmt::format("{} {} {} in the checkpoint, {} {} in the model", m.expected.name,
                       dtype_name(m.found.dtype), shape_text(m.found.shape),
                       dtype_name(m.expected.dtype), shape_text(m.expected.shape));
  });
  const auto same = [](const std::string& name) -> const std::string& { return name; };
  append_kind(out, "missing from the checkpoint", missing, same);
  append_kind(out, "not in the model", unexpected, same);
  return out.empty() ? fmt::format("all {} tensors fit", matched) : out;
}

FitReport check_fit(std::span<const TensorSpec> expected, const TrainState& checkpoint) {
  const auto by_name = parameters_by_name(checkpoint);
  FitReport report;
  std::set<const Tensor*> used;
  for (const TensorSpec& spec : expected) {
    const auto found = by_name.find(spec.name);
    if (found == by_name.end()) {
      report.missing.push_back(spec.name);
      continue;
    }
    const Tensor& tensor = *found->second;
    used.insert(&tensor);
    if (tensor.shape() == spec.shape && tensor.dtype() == spec.dtype) ++report.matched;
    else report.mismatched.push_back({spec, {spec.name, tensor.dtype(), tensor.shape()}});
  }
  for (const NamedTensor& named : checkpoint.parameters) {
    if (!used.contains(&named.tensor)) report.unexpected.push_back(named.name);
  }
  return report;
}

Result<> require_fit(std::span<const TensorSpec> expected, const TrainState& checkpoint,
                     std::string_view where) {
  const FitReport report = check_fit(expected, checkpoint);
  if (report.fits()) return {};
  return fail_hint(Code::kFailedPrecondition,
                   "give the sizes with which the checkpoint was trained, or another checkpoint",
                   "{} does not fit the model: {}", where, report.to_string());
}

}  // namespace headwater
