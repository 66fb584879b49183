#include "cli/comparison_text.h"

#include <nlohmann/json.hpp>

#include "cli/table.h"

namespace headwater {
namespace {

std::string spread(const Json& side) {
  std::string text = fmt::format("{:.4f}", side["mean"].get<double>());
  if (side["deviation"].is_null()) return text;
  return text + fmt::format(" ± {:.4f}", side["deviation"].get<double>());
}

std::string pair_text(const Json& pair) {
  TextTable table("lrrrlr");
  table.add({"metric", pair["from"].get<std::string>(), pair["to"].get<std::string>(), "difference",
             "interval", "p (Holm)"});
  for (const Json& m : pair["metrics"]) {
    table.add({m["metric"].get<std::string>(), spread(m["from"]), spread(m["to"]),
               fmt::format("{:+.4f}", m["difference"].get<double>()),
               fmt::format("{:+.4f} to {:+.4f}", m["interval"][0].get<double>(),
                           m["interval"][1].get<double>()),
               m["tested"].get<bool>() ? fmt::format("{:.4g}", m["p_holm"].get<double>()) : ""});
  }
  std::string text = fmt::format("\n{} against {}\n", pair["to"].get<std::string>(),
                                 pair["from"].get<std::string>());
  text += table.text("  ");
  if (const Json& flips = pair["flips"]; !flips.is_null()) {
    text +=
        fmt::format("  examples: {} gained, {} lost, {} stayed, by {}\n",
                    grouped(flips["gained"].get<int64_t>()), grouped(flips["lost"].get<int64_t>()),
                    grouped(flips["same"].get<int64_t>()), flips["measure"].get<std::string>());
  }
  for (const Json& sentence : pair["verdict"])
    text += fmt::format("  {}\n", sentence["text"].get<std::string>());
  return text;
}

}  // namespace

std::string comparison_text(const Json& comparison) {
  std::string text;
  for (const Json& pair : comparison["pairs"]) text += pair_text(pair);
  TextTable cost("lrrr");
  cost.add({"cost", "runs", "steps each", "minutes of all"});
  for (const Json& side : comparison["sides"]) {
    cost.add({side["name"].get<std::string>(), grouped(static_cast<int64_t>(side["runs"].size())),
              fmt::format("{:.0f}", side["steps_each"].get<double>()),
              fmt::format("{:.1f}", side["seconds"].get<double>() / 60)});
  }
  text += "\n" + cost.text() + "\n";
  for (const Json& note : comparison["notes"]) text += note.get<std::string>() + "\n";
  return text.substr(1);
}

}  // namespace headwater
