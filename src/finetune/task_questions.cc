// Questions about texts: SQuAD's JSON, whose answers begin at a character that is counted in code
// points.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "finetune/task_data.h"
#include "text/utf8.h"

namespace headwater {
namespace {

Result<const Json*> list_of(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (object.is_object() && found != object.end() && found->is_array()) return &*found;
  return fail_hint(Code::kInvalidArgument,
                   "SQuAD's form is {\"data\": [{\"paragraphs\": [{\"context\", \"qas\": [..]}]}]}",
                   "{}: no list \"{}\"", where, key);
}

Result<std::string> text_of(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_string() && !found->get_ref<const std::string&>().empty())
    return found->get<std::string>();
  return fail(Code::kInvalidArgument, "{}: \"{}\" is missing or empty", where, key);
}

// Where every code point begins, and the end.
std::vector<size_t> code_point_starts(const std::string& text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size();) {
    starts.push_back(i);
    decode_utf8(text, i);
  }
  starts.push_back(text.size());
  return starts;
}

Result<Answer> read_answer(const Json& json, const std::string& context,
                           const std::vector<size_t>& starts, const std::string& where) {
  if (!json.is_object()) return fail(Code::kInvalidArgument, "{}: an answer is no object", where);
  Answer answer;
  HW_ASSIGN_OR_RETURN(answer.text, text_of(json, "text", where));
  const auto start = json.find("answer_start");
  const bool whole = start != json.end() && start->is_number_integer();
  const int64_t number = whole ? start->get<int64_t>() : -1;
  if (number < 0 || number >= static_cast<int64_t>(starts.size()))
    return fail(Code::kOutOfRange, "{}: answer_start is no place of the context", where);
  answer.begin = starts[static_cast<size_t>(number)];
  if (std::string_view(context).substr(answer.begin).starts_with(answer.text)) return answer;
  return fail_hint(Code::kInvalidArgument, "answer_start counts characters from 0",
                   "{}: the context does not have '{}' at {}", where, answer.text, number);
}

Result<> add_question(const Json& json, const std::string& context,
                      const std::vector<size_t>& starts, bool answers_optional, TaskData& data) {
  std::string where = fmt::format("{}: question {}", data.path, data.examples.size() + 1);
  if (!json.is_object()) return fail(Code::kInvalidArgument, "{}: no object", where);
  TaskExample example;
  const auto id = json.find("id");
  if (id != json.end()) example.id = id->is_string() ? id->get<std::string>() : dump_json(*id);
  if (!example.id.empty()) where += fmt::format(" ({})", example.id);
  HW_ASSIGN_OR_RETURN(example.text, text_of(json, "question", where));
  example.pair = context;
  if (!json.contains("answers") && answers_optional) {
    data.labelled = false;
  } else {
    HW_ASSIGN_OR_RETURN(const Json* const answers, list_of(json, "answers", where));
    for (const Json& answer : *answers) {
      HW_ASSIGN_OR_RETURN(Answer read, read_answer(answer, context, starts, where));
      example.answers.push_back(std::move(read));
    }
  }
  data.examples.push_back(std::move(example));
  return {};
}

}  // namespace

Result<> parse_questions(std::string_view content, TaskData& data, bool answers_optional) {
  HW_ASSIGN_OR_RETURN(const Json root, parse_json(content, data.path));
  HW_ASSIGN_OR_RETURN(const Json* const articles, list_of(root, "data", data.path));
  for (const Json& article : *articles) {
    HW_ASSIGN_OR_RETURN(const Json* const paragraphs, list_of(article, "paragraphs", data.path));
    for (const Json& paragraph : *paragraphs) {
      HW_ASSIGN_OR_RETURN(const Json* const questions, list_of(paragraph, "qas", data.path));
      HW_ASSIGN_OR_RETURN(const std::string context, text_of(paragraph, "context", data.path));
      const std::vector<size_t> starts = code_point_starts(context);
      for (const Json& question : *questions)
        HW_RETURN_IF_ERROR(add_question(question, context, starts, answers_optional, data));
    }
  }
  return {};
}

}  // namespace headwater
