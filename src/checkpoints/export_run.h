// A checkpoint of a run as Hugging Face directories, with what the run left beside it: its
// vocabulary and how its text was tokenised. The writing is hf_export.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoints/hf_export.h"

namespace headwater {

struct ExportRunOptions {
  std::string checkpoint;  // of a run its latest
  std::string output_dir;
  std::string vocab_file;  // empty: the run's own
  std::optional<bool> do_lower_case, strip_accents;
  bool overwrite = false, average = true;
};

struct ExportRunReport {
  int64_t step = 0;
  bool averaged = false;
  std::vector<ExportedNetwork> networks;
  std::vector<std::string> warnings;
};

// Of a pair <output_dir>/discriminator and <output_dir>/generator, else one model in output_dir.
Result<ExportRunReport> export_run(FileSystem& fs, const ExportRunOptions& options);

}  // namespace headwater
