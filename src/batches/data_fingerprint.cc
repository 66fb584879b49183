#include "batches/data_fingerprint.h"

#include <nlohmann/json.hpp>

namespace headwater {
namespace {

constexpr const char* kHint =
    "resume with the records and options the run began with, or start a new run from its weights "
    "(--init-checkpoint)";

const Json* find_named(const Json& files, const Json& name) {
  for (const Json& file : files)
    if (file.is_object() && file.contains("name") && file["name"] == name) return &file;
  return nullptr;
}

std::string text_of(const Json& file, const char* key) {
  return file.contains(key) ? file[key].dump() : "unknown";
}

Result<> check_file(const Json& before, const Json& now) {
  for (const char* key : {"bytes", "records", "checksum"}) {
    if (before.contains(key) && now.contains(key) && before[key] == now[key]) continue;
    return fail_hint(Code::kFailedPrecondition, kHint,
                     "{} is not the file the run began with: {} was {}, now {}",
                     now["name"].get<std::string>(), key, text_of(before, key), text_of(now, key));
  }
  return {};
}

}  // namespace

Result<> check_same_data(const Json& saved, const Json& present) {
  const auto is_fingerprint = [](const Json& json) {
    return json.is_object() && json.contains("files") && json["files"].is_array() &&
           json.contains("options") && json["options"].is_object();
  };
  if (!is_fingerprint(saved) || !is_fingerprint(present))
    return fail_hint(Code::kInvalidArgument, "start a new run from its weights (--init-checkpoint)",
                     "the checkpoint does not say which data it was trained on");
  for (const Json& file : saved["files"]) {
    const std::string name = file.is_object() ? file.value("name", "") : "";
    if (find_named(present["files"], name) == nullptr)
      return fail_hint(Code::kFailedPrecondition, kHint,
                       "{} belongs to the run, but not to the records given now", name);
  }
  for (const Json& file : present["files"]) {
    const Json* before = find_named(saved["files"], file["name"]);
    if (before == nullptr)
      return fail_hint(Code::kFailedPrecondition, kHint, "{} is new: the run began without it",
                       file["name"].get<std::string>());
    HW_RETURN_IF_ERROR(check_file(*before, file));
  }
  if (saved["files"].size() != present["files"].size())
    return fail_hint(Code::kFailedPrecondition, kHint, "the run began with {} files, now {}",
                     saved["files"].size(), present["files"].size());
  for (const auto& [name, value] : present["options"].items()) {
    const Json& options = saved["options"];
    if (options.contains(name) && options[name] == value) continue;
    return fail_hint(Code::kFailedPrecondition, kHint,
                     "{} was {} when the run began, now it is {}: batches would differ", name,
                     text_of(options, name.c_str()), value.dump());
  }
  return {};
}

}  // namespace headwater
