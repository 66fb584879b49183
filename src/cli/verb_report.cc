// `report`: one page about runs, records and comparisons.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "report/report_data.h"
#include "report/report_page.h"

namespace headwater {
namespace {

struct ReportOptions {
  std::vector<std::string> folders;
  std::string output = "report.html", title = "Training report";

  void describe(Fields& f) {
    f("folders", folders, "output folders of runs, records and comparisons, or folders of them")
        .positional()
        .required()
        .value_name("DIR");
    f("output", output, "the page to write; - is standard output").alias("o").value_name("FILE");
    f("title", title, "heading of the page");
  }
};

Result<int> run_report(const ReportOptions& options) {
  FileSystem& fs = local_files();
  HW_ASSIGN_OR_RETURN(const Json data, gather_report(fs, options.folders));
  const std::string page = report_page(options.title, data);
  if (options.output == "-") {
    std::fwrite(page.data(), 1, page.size(), stdout);
    return 0;
  }
  HW_RETURN_IF_ERROR(write_file_atomic(fs, options.output, page));
  log_info("{}: {}", options.output, byte_text(static_cast<int64_t>(page.size())));
  return 0;
}

}  // namespace

Verb make_report_verb() {
  return make_verb<ReportOptions>(
      {.name = "report",
       .summary = "one page about runs: curves, tables, settings, comparisons",
       .description =
           "Writes a self-contained HTML page about everything that the folders hold: curves of "
           "training runs (run.json, metrics.jsonl), facts about records and their text "
           "(manifest.json), comparisons (comparison.json), settings that differ between runs, "
           "and where everything came from. The page opens without a network, in light and dark, "
           "on a phone too; all its numbers stand in it as JSON, in the element with the id "
           "\"data\".",
       .examples = {{"headwater report run -o report.html", "a run"},
                    {"headwater report records run comparison --title 'KOTE, spoken Korean'",
                     "everything on one page"}}},
      run_report);
}

}  // namespace headwater
