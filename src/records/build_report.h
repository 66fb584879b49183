// What a build tells about itself: the manifest, and warnings about text that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "records/electra_build.h"
#include "tokens/tokenizer.h"

namespace headwater {

struct BuildInput {
  std::string name;    // inside the corpus folder
  int64_t bytes = 0;   // on disk
  std::string sha256;  // of the unpacked text
};

// Counts, options, shards, and digests of vocabulary and inputs. Files are listed one by one up to
// ten thousand; the digest covers all of them.
Json build_manifest(const ElectraBuildOptions& options, const Tokenizer& tokenizer,
                    const std::vector<BuildInput>& inputs, const ElectraBuildSummary& summary);

void add_build_warnings(const ElectraBuildOptions& options, const Tokenizer& tokenizer,
                        ElectraBuildSummary& summary);

// Share of positions of the examples that hold a token, 0 to 1.
double fill_rate(const BuildCounts& counts, int64_t max_seq_length);

}  // namespace headwater
