// The page: what it gathers is what the files hold, and no text of a run can become markup.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "io/memory_files.h"
#include "report/metric_series.h"
#include "report/report_data.h"
#include "report/report_page.h"
#include "report/runs.h"

namespace headwater {
namespace {

using report_test::put;

constexpr const char* kHostile = "</script><script>alert(1)</script><!-- &lt; \" ' {{data}} 한글";

std::string island(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(Report, HoldsTheNumbersOfTheMetricsFile) {
  MemoryFileSystem fs;
  report_test::put_pretraining(fs, "out/run", 40);
  const Json data = gather_report(fs, std::vector<std::string>{"out/"}).value();
  ASSERT_EQ(data["runs"].size(), 1u);
  const Json& run = data["runs"][0];
  EXPECT_EQ(run["folder"], "out/run");
  EXPECT_EQ(run["verb"], "pretrain");
  EXPECT_EQ(run["file_count"], 1);
  EXPECT_EQ(
      run["command"],
      "headwater pretrain --records 'records/*' --output-dir out/run --seed 7 --max-seq-length 64");
  Json again = Json::array();  // of every line, what it holds
  for (const Json& series : run["series"])
    for (const Json& point : series["points"])
      again.push_back({series["split"], series["metric"], point[0], point[1]});
  size_t lines = 0, values = 0;
  std::istringstream file(read_file(fs, "out/run/metrics.jsonl").value());
  for (std::string text; std::getline(file, text); ++lines) {
    const Json line = parse_json(text, "line").value();
    for (const auto& [name, value] : line.items()) {
      if (name == "step" || name == "split" || value.is_null()) continue;
      ++values;
      const Json wanted = {line["split"], name, line["step"], value};
      EXPECT_NE(std::find(again.begin(), again.end(), wanted), again.end()) << wanted;
    }
  }
  EXPECT_EQ(lines, 45u);
  EXPECT_EQ(again.size(), values);
  EXPECT_EQ(parse_json(island(report_page("t", data)), "island").value(), data);
}

TEST(Report, HostileNamesStayText) {
  MemoryFileSystem fs;
  const std::string folder = "out/<b>'\"&";
  report_test::put_pretraining(fs, folder, 3);
  put(fs, folder + "/metrics.jsonl",
      dump_json(Json{{"step", 1}, {"split", kHostile}, {kHostile, 2.5}}) + "\n");
  put(fs, "out/records/manifest.json",
      Json{{"headwater_records", "electra"}, {"vocabulary", {{"file", kHostile}}}});
  const Json data = gather_report(fs, std::vector<std::string>{"out"}).value();
  const std::string page = report_page(kHostile, data);
  const std::string plain = report_page("", Json::object());
  const auto count = [](const std::string& text, std::string_view what) {
    int n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  for (const char* what : {"<script", "</script", "<!--", "<b>"})
    EXPECT_EQ(count(page, what), count(plain, what)) << what;
  EXPECT_EQ(parse_json(island(page), "island").value(), data);
  EXPECT_NE(page.find("<title>&lt;/script&gt;"), std::string::npos);
  EXPECT_NE(page.find("한글"), std::string::npos);
}

RC_GTEST_PROP(ReportProperty, AnyTextComesBackFromTheIsland, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  const std::string text = script_json(Json{{bytes, bytes}});
  RC_ASSERT(text.find_first_of("<>&") == std::string::npos);
  RC_ASSERT(parse_json(text, "island").value()[bytes] == bytes);
  RC_ASSERT(escaped_html(bytes).find_first_of("<>\"'") == std::string::npos);
}

TEST(Report, FindsRecordsRunsAndComparisonsBelow) {
  MemoryFileSystem fs;
  report_test::put_pretraining(fs, "out/run/a", 1);
  report_test::put_pretraining(fs, "out/run/a/checkpoint-10/x", 1);
  report_test::put_pretraining(fs, "out/run/a/generator", 1);
  put(fs, "out/records/manifest.json",
      Json{{"headwater_records", "electra"}, {"counts", {{"lines", 3}}}, {"shards", {1, 2}}});
  put(fs, "out/else/manifest.json", Json{{"name", "of another program"}});
  put(fs, "out/compared/comparison.json", Json{{"headwater_comparison", 1}});
  report_test::put_pretraining(fs, "out/compared/base/seed-1", 1);
  const Json data = gather_report(fs, std::vector<std::string>{"out", "out/run"}).value();
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][1]["folder"], "out/run/a/generator");
  ASSERT_EQ(data["records"].size(), 1u);
  EXPECT_EQ(data["records"][0]["shards"], 2);
  EXPECT_EQ(data["records"][0]["counts"]["lines"], 3);
  ASSERT_EQ(data["comparisons"].size(), 1u);
  EXPECT_EQ(data["comparisons"][0]["folder"], "out/compared");
}

TEST(Report, SaysWhatIsWrong) {
  MemoryFileSystem fs;
  put(fs, "empty/notes.txt", std::string("x"));
  const auto error = [&](const std::string& folder) {
    return gather_report(fs, std::vector<std::string>{folder}).error();
  };
  EXPECT_EQ(error("empty").code, Code::kNotFound);
  EXPECT_EQ(error("missing").code, Code::kNotFound);
  report_test::put_pretraining(fs, "run", 2);
  put(fs, "run/metrics.jsonl", std::string("{\"step\":1,\"split\":\"train\"}\n{\"step\":\n"));
  EXPECT_NE(error("run").to_string().find("run/metrics.jsonl:2"), std::string::npos);
  put(fs, "run/metrics.jsonl", std::string("{\"loss\":1}\n"));
  EXPECT_NE(error("run").to_string().find("run/metrics.jsonl:1"), std::string::npos);
  put(fs, "run/metrics.jsonl", std::string("{\"step\":1,\"split\":\"train\",\"a\":1}\n{\"step\":"));
  EXPECT_TRUE(gather_report(fs, std::vector<std::string>{"run"}));  // cut short by a crash
  put(fs, "other/comparison.json", std::string("{}"));
  EXPECT_NE(error("other").to_string().find("comparison.json"), std::string::npos);
  put(fs, "run/run.json", std::string("[]"));
  EXPECT_NE(error("run").to_string().find("run.json"), std::string::npos);
}

TEST(Report, ForeignJsonOfAnyShapeIsTakenOrRefused) {
  MemoryFileSystem fs;
  for (const char* odd : {"null", "7", "[]", "{}", "\"x\"", "{\"files\": 3}", "[[1]]"}) {
    report_test::put_pretraining(fs, "run", 2);
    for (const char* key : {"options", "data", "models", "vocabulary", "version", "start_report"}) {
      Json run = parse_json(read_file(fs, "run/run.json").value(), "run").value();
      run[key] = parse_json(odd, "odd").value();
      put(fs, "run/run.json", run);
      const auto data = gather_report(fs, std::vector<std::string>{"run"});
      ASSERT_TRUE(data) << key << " " << odd;
    }
    put(fs, "records/manifest.json",
        Json{{"headwater_records", parse_json(odd, "odd").value()},
             {"inputs", parse_json(odd, "odd").value()}});
    ASSERT_TRUE(gather_report(fs, std::vector<std::string>{"records"}));
  }
}

TEST(MetricSeries, ThinningKeepsTheShape) {
  std::vector<MetricPoint> points;
  for (int i = 0; i < 100'000; ++i)
    points.push_back({i, std::sin(i / 3000.0) + (i == 54'321 ? 50 : 0)});
  const auto kept = thinned(points, 600);
  EXPECT_LE(kept.size(), 600u);
  EXPECT_GE(kept.size(), 590u);
  EXPECT_EQ(kept.front(), points.front());
  EXPECT_EQ(kept.back(), points.back());
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &MetricPoint::step));
  EXPECT_TRUE(std::ranges::any_of(kept, [](const MetricPoint& p) { return p.step == 54'321; }));
  EXPECT_EQ(thinned(points, 200'000), points);
}

RC_GTEST_PROP(MetricSeriesProperty, ThinnedPointsAreSomeOfThePoints, ()) {
  const auto values = *rc::gen::nonEmpty<std::vector<int8_t>>();
  std::vector<MetricPoint> points;
  for (const int8_t value : values)
    points.push_back({static_cast<int64_t>(points.size()), double(value)});
  const auto kept = thinned(points, 8);
  RC_ASSERT(kept.size() <= std::max<size_t>(8, 1));
  RC_ASSERT(std::ranges::includes(points, kept, {}, &MetricPoint::step, &MetricPoint::step));
  const auto value = [](const MetricPoint& p) { return p.value; };
  RC_ASSERT(std::ranges::max(kept, {}, value).value == std::ranges::max(points, {}, value).value);
  RC_ASSERT(std::ranges::min(kept, {}, value).value == std::ranges::min(points, {}, value).value);
}

}  // namespace
}  // namespace headwater
