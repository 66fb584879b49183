#include "records/records_manifest.h"

#include <nlohmann/json.hpp>
#include <set>

#include "records/record_files.h"
#include "tokens/tokenizer_files.h"

namespace headwater {
namespace {

// Throws what nlohmann throws where the manifest is not as it should be.
RecordsManifest facts_of(const Json& json, const std::string& path) {
  RecordsManifest manifest;
  manifest.path = path;
  manifest.task = json.at("headwater_records").get<std::string>();
  const Json& vocabulary = json.at("vocabulary");
  manifest.digest = vocabulary.at("sha256").get<std::string>();
  manifest.vocab_size = vocabulary.value("size", int64_t{0});
  const Json& options = json.at("options");
  manifest.vocabulary = options.value("vocab_file", vocabulary.value("file", std::string()));
  manifest.padded = options.value("pad", manifest.task == "electra");
  return manifest;
}

Result<> read_tokenizer_options(const Json& options, const std::string& path,
                                TokenizerOptions& tokenizer) {
  Fields fields;
  tokenizer.describe_all(fields);
  Json used = Json::object();
  for (const Field& field : fields.all())
    if (options.contains(field.name)) used[field.name] = options[field.name];
  return fields.set_json(used, path);
}

}  // namespace

Result<std::optional<RecordsManifest>> RecordsManifest::read(FileSystem& fs,
                                                             const std::string& folder) {
  const std::string path = join_path(folder, kRecordsManifest);
  if (!fs.exists(path)) return std::optional<RecordsManifest>();
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kRecordsManifestLimit));
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, path));
  if (!json.is_object() || !json.contains("headwater_records"))
    return std::optional<RecordsManifest>();
  std::optional<RecordsManifest> manifest;
  try {
    manifest = facts_of(json, path);
  } catch (const nlohmann::detail::exception&) {
    return fail_hint(Code::kInvalidArgument, "remove or rebuild it",
                     "{} is not a manifest of `records build`", path);
  }
  HW_RETURN_IF_ERROR(read_tokenizer_options(json["options"], path, manifest->tokenizer));
  return manifest;
}

Result<std::vector<RecordsManifest>> RecordsManifest::beside(FileSystem& fs,
                                                             std::span<const FileInfo> files) {
  std::vector<RecordsManifest> manifests;
  std::set<std::string> folders;
  for (const FileInfo& file : files) {
    const auto [folder, is_new] = folders.insert(directory_name(file.path));
    if (!is_new) continue;
    HW_ASSIGN_OR_RETURN(auto manifest, read(fs, *folder));
    if (manifest) manifests.push_back(*std::move(manifest));
  }
  return manifests;
}

Result<> RecordsManifest::check_vocabulary(const std::string& name,
                                           const std::string& their_digest) const {
  if (their_digest == digest) return {};
  return fail_hint(Code::kFailedPrecondition,
                   "use the vocabulary the records were built with, or build them anew",
                   "{} is not the vocabulary that {} names", name, path);
}

Result<AnyTokenizer> RecordsManifest::open_tokenizer(FileSystem& fs) const {
  HW_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(fs, vocabulary));
  HW_ASSIGN_OR_RETURN(AnyTokenizer opened, AnyTokenizer::create(files, tokenizer));
  HW_RETURN_IF_ERROR(check_vocabulary(opened.name(), opened.digest()));
  return opened;
}

}  // namespace headwater
