#include "cli/help.h"

#include <unistd.h>

#include <algorithm>

#include "base/terminal.h"
#include "cli/command_line.h"

namespace headwater {
namespace {

// Breaks `text` at blanks so that no line passes `width`; every line but the first begins at column
// `indent`, the first stands at `column`. Line ends stay, and so do blanks within a line, so that a
// description may hold a small table.
std::string wrapped(std::string_view text, int64_t width, int64_t indent, int64_t column) {
  std::string out;
  const auto new_line = [&] {
    out += "\n" + std::string(static_cast<size_t>(indent), ' ');
    column = indent;
  };
  size_t blanks = 0;  // in front of the next word
  bool line_start = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const auto size = static_cast<int64_t>(end);
    if (size > 0) {
      const auto gap = static_cast<int64_t>(blanks);
      if (!line_start && column + gap + size > width) new_line();
      else out.append(blanks, ' '), column += gap;
      out += text.substr(0, end);
      column += size;
      blanks = 0;
      line_start = false;
    }
    if (end == text.size()) break;
    if (text[end] == ' ') {
      ++blanks;
    } else {
      const bool empty_line = end + 1 < text.size() && text[end + 1] == '\n';
      if (empty_line) out += '\n';
      else new_line();
      blanks = 0;
      line_start = true;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string value_name(const Field& field) {
  if (!field.value_name.empty()) return field.value_name;
  if (!field.choices.empty()) return fmt::format("{}", fmt::join(field.choices, "|"));
  if (field.json) return "JSON";
  if (field.is_bool()) return "";
  const bool whole = std::holds_alternative<int64_t*>(field.target) ||
                     std::holds_alternative<std::optional<int64_t>*>(field.target);
  const bool real = std::holds_alternative<double*>(field.target) ||
                    std::holds_alternative<std::optional<double>*>(field.target);
  return whole ? "N" : real ? "X" : "TEXT";
}

// A maximum that only bounds nonsense is not worth a reader's time.
std::string range_text(const Field& field) {
  constexpr double kBeyondUse = 10000;
  const bool bounded = field.maximum && *field.maximum < kBeyondUse;
  if (field.minimum && bounded) {
    return fmt::format("{}{} to {}", field.exclusive_minimum ? "over " : "", *field.minimum,
                       *field.maximum);
  }
  if (field.minimum)
    return fmt::format("{} {}", field.exclusive_minimum ? "over" : "at least", *field.minimum);
  return bounded ? fmt::format("at most {}", *field.maximum) : "";
}

std::string kebab(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// "[0.15; over 0 to 1; also --mlm-probability]"
std::string field_facts(const Field& field) {
  std::vector<std::string> facts;
  if (field.required) facts.emplace_back("required");
  else if (field.is_list()) facts.emplace_back("may be repeated");
  if (!field.value_name.empty() && !field.choices.empty())
    facts.push_back(fmt::format("one of {}", fmt::join(field.choices, ", ")));
  const std::string value = field.text();
  if (!field.required && !value.empty() && value != "none" &&
      !(field.is_bool() && value == "false"))
    facts.push_back("default " + value);
  if (const std::string range = range_text(field); !range.empty()) facts.push_back(range);
  if (field.is_bool() && (value != "false" || field.negation != "no_" + field.name))
    facts.push_back("--" + kebab(field.negation));
  std::string also;
  for (const std::string& alias : field.aliases)
    also += fmt::format("{}{}{}", also.empty() ? "also " : ", ", alias.size() == 1 ? "-" : "--",
                        kebab(alias));
  if (!also.empty()) facts.push_back(also);
  return facts.empty() ? "" : fmt::format("[{}]", fmt::join(facts, "; "));
}

void append_field(std::string& out, const Field& field, int64_t width) {
  constexpr int64_t kColumn = 30;  // where the explanations stand
  std::string head = "  " + field.flag();
  const std::string value = value_name(field);
  if (!field.positional && !value.empty()) head += " " + value;
  if (field.positional && field.is_list()) head += "...";
  out += head;
  auto column = static_cast<int64_t>(head.size());
  if (column + 2 > kColumn) out += "\n", column = 0;
  out += std::string(static_cast<size_t>(kColumn - column), ' ');
  const std::string facts = field_facts(field);
  out += wrapped(field.help + (facts.empty() ? "" : " " + facts), width, kColumn, kColumn) + "\n";
}

// Groups in order of appearance; fields of one group stand together.
void append_fields(std::string& out, const Fields& fields, int64_t width) {
  std::vector<std::string> groups;
  for (const Field& field : fields.all()) {
    if (std::find(groups.begin(), groups.end(), field.group) == groups.end())
      groups.push_back(field.group);
  }
  for (const std::string& group : groups) {
    out += "\n" + (group.empty() ? std::string("Options") : group) + ":\n";
    for (const Field& field : fields.all()) {
      if (field.group == group) append_field(out, field, width);
    }
  }
}

// A command that is too long goes on behind a backslash, broken before an option, so that it can
// still be pasted.
std::string command_lines(std::string_view command, int64_t width) {
  std::string out = "  ";
  auto column = static_cast<int64_t>(out.size());
  while (!command.empty()) {
    const size_t next = command.find(" --", 1);
    const std::string_view piece = command.substr(0, next);
    const auto size = static_cast<int64_t>(piece.size());
    if (column > 2 && column + size + 2 > width) {
      out += " \\\n     ";
      column = 5;
    }
    out += piece;
    column += size;
    if (next == std::string_view::npos) break;
    command.remove_prefix(next);
  }
  return out + "\n";
}

constexpr char kNoBreak = '\x1f';  // a blank at which wrapped() does not break

std::string usage_line(const Verb& verb, const Fields& fields, int64_t width) {
  std::string usage;
  for (const Field& field : fields.all()) {
    if (field.required && !field.positional)
      usage += fmt::format(" {}{}{}", field.flag(), kNoBreak, value_name(field));
  }
  usage += " [options]";
  for (const Field& field : fields.all()) {
    if (!field.positional) continue;
    const std::string name = field.flag() + (field.is_list() ? "..." : "");
    usage += field.required ? " " + name : " [" + name + "]";
  }
  usage = wrapped(fmt::format("Usage: headwater {}{}", verb.name, usage), width, 7, 0) + "\n";
  std::replace(usage.begin(), usage.end(), kNoBreak, ' ');
  return usage;
}

constexpr std::string_view kExitCodes =
    "  0 done   2 wrong usage   3 bad input   4 not found\n"
    "  5 refused (permission, quota, space)   75 try again later\n"
    "  128+n stopped by signal n   1 anything else\n";

}  // namespace

int64_t help_width() {
  const int64_t columns = terminal_columns(STDOUT_FILENO);
  return columns > 0 ? std::clamp<int64_t>(columns, 60, 100) : 80;
}

std::string verb_help_text(const Verb& verb, int64_t width) {
  const VerbCall call = verb.open();
  std::string out = usage_line(verb, *call.fields, width);
  out += "\n" + wrapped(verb.description, width, 0, 0) + "\n";
  append_fields(out, *call.fields, width);
  CommonOptions common;
  Fields common_fields;
  common.describe(common_fields);
  append_fields(out, common_fields, width);
  if (!verb.examples.empty()) out += "\nExamples:\n";
  for (const auto& [command, meaning] : verb.examples) {
    if (!meaning.empty()) out += "  # " + meaning + "\n";
    out += command_lines(command, width);
  }
  out += "\nExit codes:\n" + std::string(kExitCodes);
  if (!verb.exit_notes.empty()) out += "  " + wrapped(verb.exit_notes, width, 2, 2) + "\n";
  return out;
}

std::string overview_text(std::span<const Verb> verbs, int64_t width) {
  std::string out = "headwater " HW_VERSION
                    ": from raw text to a trained, exported language model\n"
                    "\nUsage: headwater VERB [options]      headwater help VERB\n";
  std::string heading;
  for (const Verb& verb : verbs) {
    if (verb.heading != heading) out += "\n" + verb.heading + ":\n", heading = verb.heading;
    constexpr int64_t kColumn = 20;
    out += fmt::format("  {:<18}", verb.name);
    if (verb.name.size() > 17) out += "  ";
    out += wrapped(verb.summary, width, kColumn, kColumn) + "\n";
  }
  out +=
      "\nQuick start:\n"
      "  headwater records build --corpus-dir texts --vocab-file vocab.txt --output-dir records\n"
      "  headwater pretrain --records records --vocab-file vocab.txt --output-dir run\n"
      "  headwater export --checkpoint run --output-dir model\n";
  return out;
}

}  // namespace headwater
