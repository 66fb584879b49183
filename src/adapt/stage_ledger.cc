#include "adapt/stage_ledger.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace headwater {
namespace {

constexpr const char* kFile = "adapt.json";
constexpr const char* kMark = "headwater_adapt";
constexpr int64_t kFileLimit = int64_t{1} << 20;

std::string key_of(const Json& inputs) { return sha256_hex(dump_json(inputs)); }

}  // namespace

Result<StageLedger> StageLedger::open(FileSystem& fs, const std::string& output_dir) {
  StageLedger ledger(fs, output_dir);
  const std::string path = join_path(output_dir, kFile);
  if (!fs.exists(path)) return ledger;
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kFileLimit));
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, path));
  try {
    if (json.at(kMark).get<int>() != 1) throw std::runtime_error("version");
    for (const auto& [name, stage] : json.at("stages").items())
      ledger.stages_[name] = {stage.at("key").get<std::string>(),
                              stage.at("made").get<std::string>(),
                              stage.at("seconds").get<double>(), stage.at("done").get<bool>()};
  } catch (const std::exception&) {
    return fail_hint(Code::kFailedPrecondition, "name another --output-dir",
                     "{} is not what `headwater adapt` writes", path);
  }
  return ledger;
}

bool StageLedger::is_done(const std::string& stage, const std::string& folder,
                          const Json& inputs) const {
  const auto found = stages_.find(stage);
  return found != stages_.end() && found->second.done && found->second.key == key_of(inputs) &&
         fs_->exists(path(folder));
}

Result<StageLedger::State> StageLedger::enter(const std::string& stage, const std::string& folder,
                                              const Json& inputs, std::string& moved) {
  moved.clear();
  if (is_done(stage, folder, inputs)) return State::kDone;
  const auto found = stages_.find(stage);
  const std::string place = path(folder), key = key_of(inputs);
  const bool is_there = fs_->exists(place);
  if (is_there && found == stages_.end())
    return fail_hint(Code::kFailedPrecondition, "name another --output-dir, or move it away",
                     "{} was not made by this command", place);
  const bool same = is_there && found->second.key == key;
  if (is_there && !same) {
    int number = 1;
    do moved = fmt::format("{}.before-{}", place, number++);
    while (fs_->exists(moved));
    HW_RETURN_IF_ERROR(fs_->rename(place, moved));
  }
  stages_[stage] = {key, "", 0, false};
  HW_RETURN_IF_ERROR(write());
  return same ? State::kInterrupted : State::kNew;
}

Result<> StageLedger::finish(const std::string& stage, const std::string& line, double seconds) {
  Entry& entry = stages_[stage];
  entry.line = line;
  entry.seconds += seconds;
  entry.done = true;
  return write();
}

std::string StageLedger::key(const std::string& stage) const {
  const auto found = stages_.find(stage);
  return found == stages_.end() ? "" : found->second.key;
}

std::string StageLedger::line(const std::string& stage) const {
  const auto found = stages_.find(stage);
  return found == stages_.end() ? "" : found->second.line;
}

Result<> StageLedger::write() const {
  Json stages = Json::object();
  for (const auto& [name, entry] : stages_)
    stages[name] = {
        {"key", entry.key}, {"done", entry.done}, {"seconds", entry.seconds}, {"made", entry.line}};
  const Json json = {{kMark, 1}, {"version", HW_VERSION}, {"stages", std::move(stages)}};
  HW_RETURN_IF_ERROR(fs_->make_directories(output_dir_));
  return write_file_atomic(*fs_, join_path(output_dir_, kFile), dump_json(json, 1) + "\n");
}

}  // namespace headwater
