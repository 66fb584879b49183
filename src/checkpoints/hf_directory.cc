#include "checkpoints/hf_directory.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoints/torch_writer.h"

namespace headwater {
namespace {

constexpr const char* kConfig = "config.json";

// The bytes of one tensor, collected.
class BytesSink final : public ByteSink {
 public:
  using ByteSink::write;
  Result<> write(std::span<const uint8_t> data) override {
    bytes.insert(bytes.end(), data.begin(), data.end());
    return {};
  }
  Result<> close() override { return {}; }

  std::vector<uint8_t> bytes;
};

Result<> write_bin(FileSystem& fs, const HfDirectory& directory, const TensorProducer& produce) {
  HW_ASSIGN_OR_RETURN(TorchWriter writer,
                      TorchWriter::create(fs, join_path(directory.path, "pytorch_model.bin")));
  for (const TensorPlan& tensor : directory.tensors) {
    BytesSink sink;
    HW_RETURN_IF_ERROR(produce(tensor, sink));
    HW_RETURN_IF_ERROR(writer.add(tensor.name, tensor.type, tensor.shape, sink.bytes));
  }
  for (const auto& [name, of] : directory.tied) HW_RETURN_IF_ERROR(writer.add_tied(name, of));
  return writer.commit();
}

Result<> write_weights(FileSystem& fs, const HfDirectory& directory,
                       const TensorProducer& produce) {
  if (directory.bin) return write_bin(fs, directory, produce);
  HW_ASSIGN_OR_RETURN(AtomicFile file,
                      AtomicFile::create(fs, join_path(directory.path, "model.safetensors")));
  HW_RETURN_IF_ERROR(write_safetensors(file.sink(), directory.tensors, produce));
  return file.commit();
}

}  // namespace

Result<> check_output_directory(FileSystem& fs, const std::string& path, bool overwrite) {
  const auto existing = fs.list(path);
  if (!existing || existing->empty() || overwrite) return {};
  return fail_hint(Code::kAlreadyExists, "name another directory, or give --overwrite",
                   "{} exists and is not empty", path);
}

Result<> write_hf_directory(FileSystem& fs, const HfDirectory& directory,
                            const TensorProducer& produce) {
  HW_RETURN_IF_ERROR(check_output_directory(fs, directory.path, directory.overwrite));
  HW_RETURN_IF_ERROR(fs.make_directories(directory.path));
  const std::string config = join_path(directory.path, kConfig);
  if (fs.exists(config)) HW_RETURN_IF_ERROR(fs.remove(config));
  HW_RETURN_IF_ERROR(write_weights(fs, directory, produce));
  for (const bool last : {false, true}) {
    for (const auto& [name, content] : directory.files) {
      if ((name == kConfig) == last)
        HW_RETURN_IF_ERROR(write_file_atomic(fs, join_path(directory.path, name), content));
    }
  }
  return {};
}

Result<Model> read_hf_model(FileSystem& fs, const std::string& path) {
  constexpr int64_t kConfigLimit = int64_t{16} << 20;
  const auto info = fs.info(path);
  const bool is_folder = info && info->is_directory;
  const std::string file = is_folder ? join_path(path, "config.json") : path;
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, file, kConfigLimit));
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(text, file));
  return Model::from_hf_json(json, file);
}

}  // namespace headwater
