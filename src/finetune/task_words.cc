// Words with tags: CoNLL's lines, or JSON objects.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "finetune/task_data.h"

namespace headwater {
namespace {

using Names = std::span<const std::string_view>;

Result<std::vector<std::string>> texts_of(const Json& object, Names names,
                                          const std::string& where) {
  for (const std::string_view name : names) {
    const auto list = object.find(name);
    if (list == object.end()) continue;
    if (!list->is_array())
      return fail(Code::kInvalidArgument, "{}: \"{}\" is no list", where, name);
    std::vector<std::string> texts;
    for (const Json& item : *list)
      texts.push_back(item.is_string() ? item.get<std::string>() : dump_json(item));
    return texts;
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return fail(Code::kNotFound, "{}: no \"{}\"; there is: {}", where, names.front(),
              fmt::join(keys, ", "));
}

Result<> add_object(std::string_view line, TaskExample example, bool labels_optional,
                    TaskData& data) {
  constexpr std::array<std::string_view, 2> kWords = {"tokens", "words"};
  constexpr std::array<std::string_view, 3> kTags = {"tags", "ner_tags", "labels"};
  const std::string where = fmt::format("{}:{}", data.path, example.line);
  HW_ASSIGN_OR_RETURN(const Json object, parse_json(line, where));
  if (!object.is_object()) return fail(Code::kInvalidArgument, "{}: no JSON object", where);
  HW_ASSIGN_OR_RETURN(example.words, texts_of(object, kWords, where));
  const bool has_tags =
      std::ranges::any_of(kTags, [&](std::string_view name) { return object.contains(name); });
  if (!has_tags && labels_optional) {
    data.labelled = false;
  } else {
    HW_ASSIGN_OR_RETURN(example.label_texts, texts_of(object, kTags, where));
    if (example.words.size() != example.label_texts.size()) {
      return fail(Code::kInvalidArgument, "{}: {} words, but {} tags", where, example.words.size(),
                  example.label_texts.size());
    }
  }
  if (example.words.empty()) return fail(Code::kInvalidArgument, "{}: no words", where);
  data.examples.push_back(std::move(example));
  return {};
}

// A word, and behind it its tag; columns between them are passed over.
Result<> add_word(std::string_view line, int64_t number, bool labels_optional, TaskExample& example,
                  TaskData& data) {
  const char separator = line.find('\t') != std::string_view::npos ? '\t' : ' ';
  const size_t first = line.find(separator), last = line.rfind(separator);
  const std::string_view word = line.substr(0, first);
  const std::string_view tag =
      first == std::string_view::npos ? std::string_view() : line.substr(last + 1);
  if (word.empty() || (tag.empty() && !labels_optional)) {
    return fail_hint(Code::kInvalidArgument, "a line is a word, a tab and a tag", "{}:{}: no {}",
                     data.path, number, word.empty() ? "word" : "tag");
  }
  example.words.emplace_back(word);
  if (tag.empty()) data.labelled = false;
  else example.label_texts.emplace_back(tag);
  return {};
}

}  // namespace

Result<> parse_tagged_words(std::string_view content, TaskData& data, bool labels_optional) {
  const size_t start = content.find_first_not_of(" \t\r\n");
  const bool objects = start != std::string_view::npos && content[start] == '{' &&
                       content.find('\t') > content.find('\n');
  TaskExample example;
  const auto close = [&] {
    if (!example.words.empty()) data.examples.push_back(std::move(example));
    example = {};
  };
  int64_t number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    std::string_view line = content.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty()) {
      close();
    } else if (objects) {
      TaskExample one;
      one.line = number;
      HW_RETURN_IF_ERROR(add_object(line, std::move(one), labels_optional, data));
    } else if (!line.starts_with("-DOCSTART-")) {
      if (example.words.empty()) example.line = number;
      HW_RETURN_IF_ERROR(add_word(line, number, labels_optional, example, data));
    }
  }
  close();
  if (data.labelled) return {};
  for (TaskExample& unlabelled : data.examples) unlabelled.label_texts.clear();
  return {};
}

}  // namespace headwater
