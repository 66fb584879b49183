// `records verify`: every checksum of record files, and the manifest of their build.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "base/threads.h"
#include "cli/verb.h"
#include "records/record_verify.h"

namespace headwater {
namespace {

struct VerifyOptions {
  std::vector<std::string> paths;
  bool tf_compat = false, json = false;
  std::optional<int64_t> threads;

  void describe(Fields& f) {
    f("paths", paths, "record files, quoted patterns, or folders (their files named *.tfrecord*)")
        .positional()
        .required()
        .value_name("PATH");
    f("tf_compat", tf_compat,
      "take a file that ends inside a record's header for whole, as TensorFlow does");
    f("json", json, "print a JSON object");
    f("threads", threads, "threads; one file is read by one").alias("num_threads").positive();
  }
};

Result<int> run_records_verify(const VerifyOptions& options) {
  set_num_threads(static_cast<int>(options.threads.value_or(0)));
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, list_record_files(fs, options.paths));
  const VerifyReport report = verify_records(fs, files, {.tf_compatible = options.tf_compat});
  std::string text;
  if (options.json) {
    text = dump_json(to_json(report), 2) + "\n";
  } else {
    for (const std::string& line : describe_damage(report)) text += line + "\n";
    text +=
        fmt::format("{} records in {} files ({} bytes): {}\n", report.records(),
                    report.files.size(), report.bytes(), report.good() ? "no damage" : "damaged");
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (report.good()) {
    if (report.manifests == 0 && !options.json) {
      log_info("no manifest beside the files: records missing at the end of a file go unseen");
    }
    return 0;
  }
  return fail(Code::kDataLoss, "{} of {} files are damaged{}: {} damaged records or file ends{}",
              report.bad_files(), report.files.size(),
              report.missing.empty() ? "" : fmt::format(", {} are missing", report.missing.size()),
              report.damages(), options.json ? "" : ", listed above");
}

}  // namespace

Verb make_records_verify_verb() {
  return make_verb<VerifyOptions>(
      {.name = "records verify",
       .summary = "check every record of TFRecord files",
       .description =
           "Reads the files through, gzip and zlib too, and checks both checksums of every record. "
           "All damage is listed with file, record, byte offset and what is missing, not the first "
           "only. Beside the manifest of records build, also finds files that are missing, "
           "exchanged, or cut between two records, which nothing else can see.",
       .examples = {{"headwater records verify records/", ""},
                    {"headwater records verify 'records/*.tfrecord-*' --json", ""}},
       .exit_notes = "3 when anything is damaged or missing"},
      run_records_verify);
}

}  // namespace headwater
