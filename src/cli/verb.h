// A verb of the command line: texts for help, an options struct described once, a function that
// runs.
//
//   Verb make_tokenize_verb() {
//     return make_verb<TokenizeOptions>({.name = "tokenize",
//                                        .summary = "turn lines of text into WordPiece ids",
//                                        .description = "One line in, one line out. ...",
//                                        .examples = {{"headwater tokenize --vocab-file vocab.txt <
//                                        a.txt",
//                                                      "ids of standard input"}}},
//                                       run_tokenize);
//   }
//
// `run` is Result<int> run(Options&), or run(Options&, const Fields&) where the origins of values
// matter; it returns the exit code, and an error becomes one line and an exit code (cli/run.h).
// The struct may have `Result<> resolve(Fields&)`: called after flags and files are in, it fills
// what still has its default (Fields::set_defaults: presets, derived values) and checks values
// against each other; its errors are usage errors. Required fields are checked after it.
// A verb stands in src/cli/verb_<name>.cc and has one line in cli/verbs.def.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/described.h"
#include "base/error.h"

namespace headwater {

// One use of a verb: fresh options, their description, and what to do with them.
struct VerbCall {
  std::shared_ptr<void> options;
  std::unique_ptr<Fields> fields;  // points into *options
  std::function<Result<>()> resolve;
  std::function<Result<int>()> run;
};

struct VerbExample {
  std::string command;
  std::string meaning;  // may be empty
};

struct Verb {
  std::string name;         // one or two words: "tokenize", "records build"
  std::string summary;      // half a line, for the overview; no capital, no full stop
  std::string description;  // paragraphs, separated by an empty line
  std::vector<VerbExample> examples;
  std::string exit_notes = {};  // exit codes with a meaning of their own, a line each; may be empty
  std::string heading = {};     // in the overview; set by verbs.def
  std::function<VerbCall()> open = {};  // set by make_verb
};

template <class Options, class Run>
Verb make_verb(Verb verb, Run run) {
  verb.open = [run] {
    auto options = std::make_shared<Options>();
    VerbCall call;
    call.options = options;
    call.fields = std::make_unique<Fields>();
    Fields* fields = call.fields.get();
    options->describe(*fields);
    call.resolve = [options, fields]() -> Result<> {
      if constexpr (requires { options->resolve(*fields); }) return options->resolve(*fields);
      return {};
    };
    call.run = [options, fields, run]() -> Result<int> {
      if constexpr (std::is_invocable_v<Run, Options&, const Fields&>)
        return run(*options, *fields);
      else return run(*options);
    };
    return call;
  };
  return verb;
}

// All verbs, in the order of verbs.def.
const std::vector<Verb>& all_verbs();

}  // namespace headwater
