// The page of a report: the template, Chart.js and the data of report_data.h in one file that opens
// without a network.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace headwater {

std::string report_page(std::string_view title, const Json& data);

// JSON that may stand in a <script> of a page: no text in it can end the element, or open a
// comment.
std::string script_json(const Json& data);
// Text that may stand between tags and in quoted attributes.
std::string escaped_html(std::string_view text);

}  // namespace headwater
