// The page in a real browser: it opens without an error, draws its charts, and shows the numbers
// of the files. Runs where Debian's chromium is, or what HW_BROWSER names.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "report/comparison.h"
#include "report/report_data.h"
#include "report/report_page.h"
#include "report/runs.h"

namespace headwater {
namespace {

// Put behind the page's own script: what there is to see, as JSON in an element of its own.
constexpr std::string_view kProbe = R"js(<script>
const blank = canvas => !new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer).some(x => x);
const seen = {
  charts: charts.length, blank: [...document.querySelectorAll("canvas")].filter(blank).map(c => c.ariaLabel),
  values: [...document.querySelectorAll("[data-value]")].map(e => [JSON.parse(e.dataset.value), e.textContent]),
  text: document.querySelector("main").textContent, wide: document.documentElement.scrollWidth > innerWidth,
  injected: document.querySelectorAll("main script, main b, main img").length,
};
document.body.append(node("pre", {id: "seen"}, JSON.stringify(seen)));
</script>)js";

class Browser : public testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("HW_BROWSER");
    browser_ = named != nullptr ? named : "/usr/bin/chromium";
    if (!std::filesystem::exists(browser_))
      GTEST_SKIP() << "no browser: install chromium, or name one in HW_BROWSER";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return join_path(folder_, name); }

  // What the probe saw on the page, at a width; console messages are failures.
  Json open(std::string page, int width) {
    page.insert(page.rfind("</body>"), kProbe);
    report_test::put(local_files(), in("page.html"), page);
    const std::string command = fmt::format(
        "'{}' --headless --no-sandbox --disable-gpu --user-data-dir='{}' --window-size={},900 "
        "--enable-logging=stderr --dump-dom 'file://{}' >'{}' 2>'{}'",
        browser_, in("profile"), width, in("page.html"), in("dom"), in("log"));
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    const std::string dom = read_file(local_files(), in("dom")).value();
    const std::string log = read_file(local_files(), in("log")).value();
    EXPECT_EQ(log.find("CONSOLE"), std::string::npos)
        << log.substr(std::min(log.size(), log.find("CONSOLE")));
    const std::string mark = R"(<pre id="seen">)";
    const size_t begin = dom.rfind(mark);
    if (begin == std::string::npos) {
      ADD_FAILURE() << "the page's script did not end: " << log;
      return Json::object();
    }
    std::string seen =
        dom.substr(begin + mark.size(), dom.find("</pre>", begin) - begin - mark.size());
    for (const auto& [name, character] :
         {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")}) {
      for (size_t at = 0; (at = seen.find(name, at)) != std::string::npos; ++at)
        seen.replace(at, std::string_view(name).size(), character);
    }
    return parse_json(seen, "seen").value();
  }

  std::string browser_;
  const std::string folder_ = testing::TempDir() + fmt::format("hw browser {}", ::getpid());
};

TEST_F(Browser, ShowsARunAndAComparison) {
  FileSystem& fs = local_files();
  const std::string hostile = "</script><b>글\"'&</b><img src=x onerror=alert(1)>";
  report_test::put_pretraining(fs, in("out/run"), 900);
  report_test::put(fs, in("out/records/manifest.json"),
                   Json{{"headwater_records", "electra"},
                        {"counts", {{"lines", 12345}}},
                        {"vocabulary", {{"file", hostile}}}});
  std::vector<ComparisonSide> sides;
  for (const auto& [name, skill] : {std::pair("base", 0.7), std::pair("adapted", 0.8)}) {
    sides.push_back({name, {}});
    for (int64_t seed = 1; seed <= 3; ++seed) {
      report_test::FineTuning run{.folder = in(fmt::format("out/compared/{}/{}", name, seed)),
                                  .seed = seed,
                                  .skill = skill};
      run.labels[1] = hostile;
      report_test::put_finetuning(fs, run);
      sides.back().folders.push_back(run.folder);
    }
  }
  const Json comparison = compare_runs(fs, sides, {.resamples = 200}).value();
  report_test::put(fs, in("out/compared/comparison.json"), comparison);
  const Json data = gather_report(fs, std::vector<std::string>{in("out")}).value();

  for (const int width : {1200, 500}) {
    const Json seen = open(report_page(hostile, data), width);
    ASSERT_TRUE(seen.contains("charts"));
    EXPECT_GE(seen["charts"].get<int>(), 6);
    EXPECT_EQ(seen["blank"], Json::array());
    EXPECT_EQ(seen["injected"], 0);
    EXPECT_FALSE(seen["wide"].get<bool>()) << width;
    EXPECT_NE(seen["text"].get<std::string>().find(hostile), std::string::npos);
    EXPECT_NE(seen["text"].get<std::string>().find("12,345"), std::string::npos);
    // Every value of a cell is one of the files', and none of these is missing.
    const auto shown = [&](const Json& value) {
      return std::ranges::any_of(seen["values"],
                                 [&](const Json& cell) { return cell[0] == value; });
    };
    for (const Json& series : data["runs"][0]["series"])
      for (const char* which : {"first", "lowest", "highest", "last"})
        EXPECT_TRUE(shown(series[which][1])) << series["metric"];
    for (const Json& m : comparison["pairs"][0]["metrics"]) {
      EXPECT_TRUE(shown(m["difference"])) << m;
      EXPECT_TRUE(shown(m["from"]["mean"])) << m;
    }
  }
}

}  // namespace
}  // namespace headwater
