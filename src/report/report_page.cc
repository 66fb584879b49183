#include "report/report_page.h"

namespace headwater {

extern const std::string_view kReportTemplate, kChartJs;  // embedded by CMakeLists.txt

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string script_json(const Json& data) {
  // In JSON these stand in strings only, where an escape means the same.
  std::string out;
  for (const char c : dump_json(data)) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

std::string report_page(std::string_view title, const Json& data) {
  // Each mark is looked for behind what was put in for the one before it: user text holds none.
  std::string page(kReportTemplate);
  size_t from = 0;
  const auto put = [&](std::string_view mark, std::string_view text) {
    const size_t place = page.find(mark, from);
    HW_CHECK(place != std::string::npos, "report.html has no {}", mark);
    page.replace(place, mark.size(), text);
    from = place + text.size();
  };
  put("{{title}}", escaped_html(title));
  put("{{title}}", escaped_html(title));
  put("{{data}}", script_json(data));
  put("{{chart.js}}", kChartJs);
  return page;
}

}  // namespace headwater
