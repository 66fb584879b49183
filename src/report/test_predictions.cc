#include "report/test_predictions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"

namespace headwater {
namespace {

constexpr int64_t kLargestFile = int64_t{1} << 30;  // bytes

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::optional<int32_t> label_index(const Json& label, const std::vector<std::string>& labels) {
  if (label.is_string()) {
    const auto found = std::ranges::find(labels, label.get<std::string>());
    if (found == labels.end()) return std::nullopt;
    return static_cast<int32_t>(found - labels.begin());
  }
  if (!label.is_number_integer()) return std::nullopt;
  const auto index = label.get<int64_t>();
  if (index < 0 || index >= static_cast<int64_t>(labels.size())) return std::nullopt;
  return static_cast<int32_t>(index);
}

Result<std::vector<int32_t>> label_list(const Json& line, const char* key, const std::string& where,
                                        const std::vector<std::string>& labels) {
  const auto list = line.find(key);
  if (list == line.end()) return fail(Code::kInvalidArgument, "{}: no \"{}\"", where, key);
  std::vector<int32_t> indices;
  for (const Json& label : list->is_array() ? *list : Json::array({*list})) {
    const auto index = label_index(label, labels);
    if (!index) {
      return fail(Code::kInvalidArgument, "{}: \"{}\" has {}, which is none of the {} labels",
                  where, key, dump_json(label), labels.size());
    }
    indices.push_back(*index);
  }
  std::ranges::sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

int64_t common(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  int64_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    both += a[i] == b[j];
    a[i] < b[j] ? ++i : b[j] < a[i] ? ++j : (++i, ++j);
  }
  return both;
}

}  // namespace

Result<TestPredictions> TestPredictions::read(FileSystem& fs, const std::string& path,
                                              bool multi_label,
                                              const std::vector<std::string>& labels) {
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kLargestFile));
  TestPredictions all;
  all.multi_label_ = multi_label;
  all.labels_ = static_cast<int64_t>(labels.size());
  all.names_ = {"accuracy", "precision_micro", "recall_micro", "f1_micro",
                "f1_macro", "f1_weighted",     "f1_samples",   "exact_match"};
  if (!multi_label) all.names_.push_back("mcc");
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    HW_RETURN_IF_ERROR(
        all.add(text.substr(begin, end - begin), fmt::format("{}:{}", path, ++number), labels));
    begin = end + 1;
  }
  if (all.truth_.empty()) return fail(Code::kInvalidArgument, "{} holds no predictions", path);
  return all;
}

Result<> TestPredictions::add(const std::string& line, const std::string& where,
                              const std::vector<std::string>& labels) {
  HW_ASSIGN_OR_RETURN(const Json json, parse_json(line, where));
  if (!json.is_object()) return fail(Code::kInvalidArgument, "{}: not a JSON object", where);
  HW_ASSIGN_OR_RETURN(auto truth, label_list(json, "labels", where, labels));
  HW_ASSIGN_OR_RETURN(auto predicted, label_list(json, "predicted", where, labels));
  if (!multi_label_ && (truth.size() != 1 || predicted.size() != 1)) {
    return fail(Code::kInvalidArgument,
                "{}: a single-label example needs one true label and one "
                "predicted one",
                where);
  }
  const auto sizes = static_cast<double>(truth.size() + predicted.size());
  f1_.push_back(share(2 * static_cast<double>(common(truth, predicted)), sizes));
  right_.push_back(truth == predicted);
  truth_.push_back(std::move(truth)), predicted_.push_back(std::move(predicted));
  return {};
}

void TestPredictions::values(std::span<const int32_t> weights, std::span<double> out) const {
  std::vector<Counts> per_label(static_cast<size_t>(labels_));
  double total = 0, right = 0, f1_samples = 0;
  for (size_t i = 0; i < truth_.size(); ++i) {
    const auto weight = static_cast<double>(weights[i]);
    if (weight == 0) continue;
    total += weight, right += weight * right_[i], f1_samples += weight * f1_[i];
    for (const int32_t label : truth_[i]) per_label[index(label)].truth += weight;
    for (const int32_t label : predicted_[i]) {
      Counts& counts = per_label[index(label)];
      counts.predicted += weight;
      if (std::ranges::binary_search(truth_[i], label)) counts.both += weight;
    }
  }
  Counts all;
  double macro = 0, weighted = 0, chance = 0, predicted_squares = 0, truth_squares = 0;
  for (const Counts& one : per_label) {
    all.both += one.both, all.predicted += one.predicted, all.truth += one.truth;
    macro += one.f1(), weighted += one.truth * one.f1();
    chance += one.predicted * one.truth;
    predicted_squares += one.predicted * one.predicted, truth_squares += one.truth * one.truth;
  }
  const double wrong_decisions = all.predicted + all.truth - 2 * all.both;
  const auto labels = static_cast<double>(labels_);
  size_t next = 0;
  const auto put = [&](double value) { out[next++] = value; };
  put(multi_label_ ? 1 - share(wrong_decisions, total * labels) : right / total);
  put(share(all.both, all.predicted));
  put(share(all.both, all.truth));
  put(all.f1());
  put(share(macro, labels));
  put(share(weighted, all.truth));
  put(f1_samples / total);
  put(right / total);
  // Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation coefficient".
  if (!multi_label_) {
    const double square = total * total;
    put(share(all.both * total - chance,
              std::sqrt((square - predicted_squares) * (square - truth_squares))));
  }
  for (const Counts& one : per_label) put(one.f1());
}

}  // namespace headwater
