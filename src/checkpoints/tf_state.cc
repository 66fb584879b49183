#include "checkpoints/tf_state.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "checkpoints/tf_bundle.h"

namespace headwater {
namespace {

constexpr std::string_view kStateFile = "checkpoint";
constexpr std::string_view kIndexSuffix = ".index";
constexpr int64_t kStateLimit = int64_t{16} << 20;  // bytes

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A quoted text with C escapes, which is how TensorFlow writes paths that are not plain ASCII.
std::optional<std::string> unquoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') ||
      text.back() != text.front())
    return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    constexpr std::string_view kLetters = "nrt", kMeanings = "\n\r\t";
    const size_t letter = kLetters.find(text[i]);
    if (letter != std::string_view::npos) {
      out += kMeanings[letter];
    } else if (text[i] >= '0' && text[i] <= '7') {
      int value = 0;
      const std::string_view digits = text.substr(i, 3);
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8).ptr;
      out += static_cast<char>(value);
      i += static_cast<size_t>(end - digits.data()) - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool has_index(FileSystem& fs, const std::string& prefix) {
  const auto info = fs.info(tf_index_path(prefix));
  return info && !info->is_directory;
}

// The step at the end of a name: "model.ckpt-1200" -> 1200; -1 for none.
int64_t step_of(std::string_view name) {
  const size_t dash = name.rfind('-');
  int64_t step = -1;
  if (dash == std::string_view::npos) return step;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dash + 1, end, step);
  return parsed.ec == std::errc() && parsed.ptr == end ? step : -1;
}

// The index with the highest step in its name; without any step, the only index.
std::optional<std::string> highest_prefix(FileSystem& fs, const std::string& directory) {
  const auto files = fs.list(directory);
  if (!files) return std::nullopt;
  std::vector<std::string> prefixes;
  for (const FileInfo& file : *files) {
    if (!file.is_directory && file.path.ends_with(kIndexSuffix))
      prefixes.push_back(file.path.substr(0, file.path.size() - kIndexSuffix.size()));
  }
  const auto best = std::max_element(prefixes.begin(), prefixes.end(),
                                     [](const std::string& a, const std::string& b) {
                                       return step_of(base_name(a)) < step_of(base_name(b));
                                     });
  if (best == prefixes.end()) return std::nullopt;
  if (step_of(base_name(*best)) < 0 && prefixes.size() > 1) return std::nullopt;
  return *best;
}

}  // namespace

Result<TfCheckpointState> parse_tf_state(std::string_view text, std::string_view where) {
  TfCheckpointState state;
  int64_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      return fail(Code::kDataLoss, "{}: line {} is not 'name: value'", where, line_number);
    }
    const std::string_view key = trimmed(line.substr(0, colon));
    const bool latest = key == "model_checkpoint_path";
    if (!latest && key != "all_model_checkpoint_paths") continue;
    auto path = unquoted(trimmed(line.substr(colon + 1)));
    if (!path) return fail(Code::kDataLoss, "{}: line {} has no quoted path", where, line_number);
    if (latest) state.latest = *std::move(path);
    else state.all.push_back(*std::move(path));
  }
  if (state.latest.empty()) {
    return fail(Code::kDataLoss, "{}: there is no model_checkpoint_path", where);
  }
  return state;
}

std::string format_tf_state(std::string_view name) {
  std::string quoted;
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("model_checkpoint_path: \"{0}\"\nall_model_checkpoint_paths: \"{0}\"\n",
                     quoted);
}

Result<TfPlace> find_tf_checkpoint(FileSystem& fs, const std::string& directory) {
  const std::string file = join_path(directory, kStateFile);
  TfPlace place;
  std::string missing = fmt::format("there is no TensorFlow checkpoint in {}", directory);
  if (fs.exists(file)) {
    HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, file, kStateLimit));
    HW_ASSIGN_OR_RETURN(const TfCheckpointState state, parse_tf_state(text, file));
    place.prefix = join_path(directory, state.latest);
    if (has_index(fs, place.prefix)) return place;
    place.prefix = join_path(directory, base_name(state.latest));
    missing = fmt::format("{} names {}, and there is no {}", file, state.latest,
                          tf_index_path(place.prefix));
    if (has_index(fs, place.prefix)) {
      place.notes.push_back(fmt::format("{} names {}, which is not there; using {} beside it", file,
                                        state.latest, place.prefix));
      return place;
    }
  }
  const auto highest = highest_prefix(fs, directory);
  if (!highest) {
    return fail_hint(Code::kNotFound, "name its prefix, as in .../model.ckpt-1000", "{}", missing);
  }
  place.prefix = *highest;
  place.notes.push_back(fs.exists(file)
                            ? fmt::format("{}; using {}, the latest there is", missing, *highest)
                            : fmt::format("there is no {}; using {}", file, *highest));
  return place;
}

}  // namespace headwater
