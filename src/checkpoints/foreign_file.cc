#include "checkpoints/foreign_file.h"

#include <algorithm>
#include <array>

namespace headwater {
namespace {

constexpr std::string_view kLfsPointer = "version https://git-lfs";
constexpr const char* kDownload = "download the file again";

// Bytes of weights may begin with '<' by chance, so the pages' first words are asked for.
bool is_web_page(std::string_view bytes) {
  static constexpr std::array<std::string_view, 5> kStarts = {"<!doctype", "<html", "<head",
                                                              "<?xml", "<!--"};
  const size_t start = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (start == std::string_view::npos) return false;
  std::string word(bytes.substr(start, 9));
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view known) { return word.starts_with(known); });
}

}  // namespace

ForeignFile recognise_foreign_file(std::string_view bytes) {
  const auto starts = [&](std::string_view magic) {
    return bytes.substr(0, magic.size()) == magic;
  };
  const std::string convert = "save it again as safetensors, or name the right file";
  if (starts("PK\x03\x04")) return {"a zip archive, as torch.save writes (PyTorch)", convert};
  if (starts(kLfsPointer)) {
    return {"a Git LFS pointer, not the file itself", "fetch it with 'git lfs pull'"};
  }
  if (bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return {"a Python pickle, as older torch.save wrote (PyTorch)", convert};
  if (starts("\x89HDF\r\n")) return {"an HDF5 file (Keras)", convert};
  if (starts("GGUF")) return {"a GGUF file", convert};
  if (starts("\x1f\x8b")) return {"a gzip file", "unpack it first"};
  if (starts("\x28\xb5\x2f\xfd")) return {"a zstd file", "unpack it first"};
  if (starts("<") || is_web_page(bytes)) return {"a web page", kDownload};
  if (starts("{")) return {"a JSON text (an index or a configuration?)", convert};
  const bool zeros = !bytes.empty() && bytes.find_first_not_of('\0') == std::string_view::npos;
  if (zeros) return {"all zero bytes, as an interrupted download or crash leaves", kDownload};
  return {};
}

Result<> refuse_pointer_file(std::span<const uint8_t> file, std::string_view path) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()),
                              std::min<size_t>(file.size(), 256));
  if (text.empty()) return fail_hint(Code::kDataLoss, kDownload, "{} is empty", path);
  if (!text.starts_with(kLfsPointer) && !is_web_page(text)) return {};
  const ForeignFile foreign = recognise_foreign_file(text);
  return fail_hint(Code::kInvalidArgument, foreign.hint, "{} is {}", path, foreign.looks_like);
}

}  // namespace headwater
