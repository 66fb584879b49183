// Shell patterns on a FileSystem: one folder listing per path component that holds a wildcard.
#include <algorithm>
#include <iterator>

#include "io/file.h"

namespace headwater {
namespace {

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

// Takes one UTF-8 character off the front as the number its bytes make: equal for equal characters,
// in the order of code points.
uint32_t take_character(std::string_view& text) {
  uint32_t character = static_cast<uint8_t>(text.front());
  text.remove_prefix(1);
  while (!text.empty() && (static_cast<uint8_t>(text.front()) & 0xC0) == 0x80 &&
         character >= 0xC0 && character < 0x1000000) {
    character = (character << 8) | static_cast<uint8_t>(text.front());
    text.remove_prefix(1);
  }
  return character;
}

// Matches one character against the set behind '['. Takes the set off `pattern` up to and with ']';
// a '[' without its ']' stands for itself.
bool take_set(std::string_view& pattern, uint32_t character) {
  std::string_view rest = pattern;
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  bool found = false;
  for (bool first = true; !rest.empty() && (first || rest.front() != ']'); first = false) {
    const uint32_t low = take_character(rest);
    uint32_t high = low;
    if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      high = take_character(rest);
    }
    found = found || (low <= character && character <= high);
  }
  if (rest.empty()) return character == '[';
  pattern = rest.substr(1);
  return found != negated;
}

// Greedy matching that goes back to the last '*' only: linear in the name for each star.
bool matches(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  std::string_view star_pattern, star_name;
  bool star = false;
  while (!name.empty() || !pattern.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      star = true, star_pattern = pattern, star_name = name;
      continue;
    }
    if (!pattern.empty() && !name.empty()) {
      const uint32_t wanted = take_character(pattern);
      const uint32_t character = take_character(name);
      if (wanted == '?' || (wanted == '[' ? take_set(pattern, character) : wanted == character))
        continue;
    }
    if (!star || star_name.empty()) return false;
    take_character(star_name);
    pattern = star_pattern, name = star_name;
  }
  return true;
}

// Extends every path of `found` by one pattern component.
Result<std::vector<std::string>> expand(FileSystem& fs, const std::vector<std::string>& found,
                                        std::string_view component) {
  std::vector<std::string> next;
  for (const std::string& directory : found) {
    if (!has_wildcard(component)) {
      std::string path = join_path(directory, component);
      if (fs.exists(path)) next.push_back(std::move(path));
      continue;
    }
    auto entries = fs.list(directory.empty() ? "." : directory);
    if (!entries) {
      const Code code = entries.error().code;
      if (code == Code::kNotFound || code == Code::kInvalidArgument) continue;  // not a folder
      return tl::unexpected<Error>(std::move(entries).error());
    }
    for (const FileInfo& entry : *entries) {
      const std::string name = base_name(entry.path);
      if (matches(component, name)) next.push_back(join_path(directory, name));
    }
  }
  return next;
}

Result<std::vector<std::string>> glob_one(FileSystem& fs, std::string_view pattern) {
  const std::string literal(pattern);
  std::vector<std::string> found = {pattern.starts_with('/') ? "/" : ""};
  if (fs.exists(literal)) {
    found = {literal};
  } else {
    for (size_t start = 0; start < pattern.size() && !found.empty();) {
      const size_t end = std::min(pattern.find('/', start), pattern.size());
      if (end > start) {
        HW_ASSIGN_OR_RETURN(found, expand(fs, found, pattern.substr(start, end - start)));
      }
      start = end + 1;
    }
  }
  const bool any = !found.empty();
  std::erase_if(found, [&](const std::string& path) {
    const auto info = fs.info(path);
    return !info || info->is_directory;
  });
  if (!found.empty()) return found;
  if (any) {
    return fail_hint(Code::kNotFound, fmt::format("give a pattern such as {}/*", pattern),
                     "{} names a directory, not files", pattern);
  }
  return fail_hint(Code::kNotFound, "check the path; quote patterns so that the shell leaves them",
                   "no file matches {}", pattern);
}

}  // namespace

std::vector<std::string> split_patterns(std::string_view patterns) {
  std::vector<std::string> parts;
  size_t start = 0;
  bool in_set = false;
  for (size_t i = 0; i <= patterns.size(); ++i) {
    const char c = i < patterns.size() ? patterns[i] : ',';
    if (c == '[' && patterns.find(']', i) != std::string_view::npos) in_set = true;
    if (c == ']') in_set = false;
    if (c != ',' || (in_set && i < patterns.size())) continue;
    if (i > start) parts.emplace_back(patterns.substr(start, i - start));
    start = i + 1;
  }
  return parts;
}

Result<std::vector<std::string>> glob_files(FileSystem& fs, std::string_view patterns) {
  if (fs.exists(std::string(patterns))) return glob_one(fs, patterns);  // a name with a comma
  const std::vector<std::string> parts = split_patterns(patterns);
  if (parts.empty()) return fail(Code::kInvalidArgument, "no file pattern given");
  std::vector<std::string> files;
  for (const std::string& part : parts) {
    HW_ASSIGN_OR_RETURN(std::vector<std::string> found, glob_one(fs, part));
    std::move(found.begin(), found.end(), std::back_inserter(files));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace headwater
