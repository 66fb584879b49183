// From words to values: which verb is meant, and its arguments put into described fields.
//
// Own code and no library: the fields already hold names, aliases, types, ranges and origins, so
// that what is left is to split words, and the rules below are not those of a ready parser.
//   --max-steps 10, --max-steps=10, --max_steps 10   the same; --max_steps pastes from elsewhere
//   --resume, --resume true, --resume=false, --no-resume
//   a list: the flag once per value; bare words fill the positional fields; -- ends the options
//   --config FILE (a JSON object of the verb's options) lies below all flags, wherever it stands
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/error.h"
#include "cli/verb.h"
#include "io/file.h"

namespace headwater {

// Options of every verb.
struct CommonOptions {
  std::vector<std::string> config;
  bool help = false;
  void describe(Fields& f);
};

// The verb that the first one or two words name; `words` is how many it took.
struct VerbMatch {
  const Verb* verb = nullptr;
  size_t words = 0;
};
Result<VerbMatch> find_verb(std::span<const Verb> verbs, std::span<const std::string> words);

// Whether --help or -h stands among the arguments (before --): then nothing else is looked at.
bool asks_for_help(std::span<const std::string> arguments);

// Sets the fields: files first, flags over them.
Result<> parse_arguments(std::span<const std::string> arguments, Fields& fields, FileSystem& files);
// After the verb's own resolve(), which may have filled them: required fields without a value.
Result<> check_required(const Fields& fields);

}  // namespace headwater
