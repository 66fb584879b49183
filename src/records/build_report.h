// What a build tells about itself: the manifest, and warnings about text that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "records/records_build.h"

namespace headwater {

// Counts, options, shards, and digests of vocabulary and inputs. Files are listed one by one up to
// ten thousand; the digest covers all of them. Read by records/records_manifest.h.
Json build_manifest(const RecordsBuildOptions& options, const AnyTokenizer& tokenizer,
                    const std::vector<BuildInput>& inputs, const RecordsBuildSummary& summary);

void add_build_warnings(const RecordsBuildOptions& options, const AnyTokenizer& tokenizer,
                        RecordsBuildSummary& summary);

// Share of positions of the examples that hold a token, 0 to 1.
double fill_rate(const BuildCounts& counts, int64_t max_seq_length);
// Share of the texts' tokens that are in no example, 0 to 1; over all copies of the text.
double lost_share(const RecordsBuildOptions& options, const BuildCounts& counts);

}  // namespace headwater
