// Whether the data of a run that resumes are those it began with.
//
// A fingerprint is {"files": [{name, bytes, records, checksum}], "options": {..}}: what the batches
// of a run are a function of, besides the step.
#pragma once

#include "base/error.h"
#include "base/json.h"

namespace headwater {

// Whether a run that began with `saved` goes on exactly with `present`; else an error that names
// the first file or option that differs.
Result<> check_same_data(const Json& saved, const Json& present);

}  // namespace headwater
