// Everything that a report says, as one JSON object: what a page shows and a test can compare with
// the files that it was taken from.
//
//   {"version", "records": [..], "runs": [..], "comparisons": [..]}
//
// Of records it holds what their manifest says (docs/formats/records-manifest.md), of a run its
// options, digests, an equal command and its curves, of a comparison its comparison.json
// (docs/formats/comparison.md). How this is shown is report.html's business.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "io/file.h"

namespace headwater {

// Of these folders and what lies below them, up to four deep: records (manifest.json), runs
// (run.json) and comparisons (comparison.json, with all runs below it). Checkpoints are not
// entered. A folder in which nothing is found is an error.
Result<Json> gather_report(FileSystem& fs, std::span<const std::string> folders);

// The command that gives these options to this verb ("pretrain", "train", ...): flags for what
// differs from the defaults, quoted for a shell. Empty for a verb that is not known.
std::string command_of(const std::string& verb, const Json& options);

}  // namespace headwater
