#include "report/test_predictions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"

namespace headwater {
namespace {

constexpr int64_t kLargestFile = int64_t{1} << 30;  // bytes

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

}  // namespace

Result<TestPredictions> TestPredictions::read(FileSystem& fs, const std::string& path,
                                              bool multi_label,
                                              const std::vector<std::string>& labels) {
  HW_ASSIGN_OR_RETURN(const std::string text, read_file(fs, path, kLargestFile));
  TestPredictions all;
  all.multi_label_ = multi_label;
  all.labels_ = static_cast<int64_t>(labels.size());
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    HW_RETURN_IF_ERROR(
        all.add(text.substr(begin, end - begin), fmt::format("{}:{}", path, ++number), labels));
    begin = end + 1;
  }
  if (all.truth_.empty()) return fail(Code::kInvalidArgument, "{} holds no predictions", path);
  const std::vector<int32_t> once(all.truth_.size(), 1);
  for (const auto& [name, value] : all.metrics(once, all.counts(once))) all.names_.push_back(name);
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
  // A row of its own: the definitions are in finetune/metrics.h.
  LabelTable is(labels_), said(labels_);
  const auto row = [&](const std::vector<int32_t>& chosen) {
    std::vector<uint8_t> cells(labels.size());
    for (const int32_t label : chosen) cells[index(label)] = 1;
    return cells;
  };
  is.add(row(truth)), said.add(row(predicted));
  const MetricValues one = multi_label_metrics(is, said);
  f1_.push_back(find_metric(one, "f1_samples").value_or(0));
  correlation_.push_back(find_metric(one, "mcc").value_or(0));
  agreement_.push_back(find_metric(one, "accuracy").value_or(0));
  right_.push_back(truth == predicted ? 1 : 0);
  truth_.push_back(std::move(truth)), predicted_.push_back(std::move(predicted));
  return {};
}

std::vector<Counts> TestPredictions::counts(std::span<const int32_t> weights) const {
  std::vector<Counts> counts(index(labels_));
  for (size_t i = 0; i < truth_.size(); ++i) {
    if (weights[i] == 0) continue;
    for (const int32_t label : truth_[i]) counts[index(label)].false_negatives += weights[i];
    for (const int32_t label : predicted_[i]) {
      Counts& count = counts[index(label)];
      if (std::ranges::binary_search(truth_[i], label)) {
        count.true_positives += weights[i], count.false_negatives -= weights[i];
      } else {
        count.false_positives += weights[i];
      }
    }
  }
  return counts;
}

MetricValues TestPredictions::metrics(std::span<const int32_t> weights,
                                      std::span<const Counts> counts) const {
  WeightedMean right, f1, correlation, agreement;
  for (size_t i = 0; i < truth_.size(); ++i) {
    const double weight = weights[i];
    right.add(right_[i], weight), f1.add(f1_[i], weight);
    correlation.add(correlation_[i], weight), agreement.add(agreement_[i], weight);
  }
  MetricValues values;
  add_averages(counts, values);
  if (multi_label_) {
    values.insert(values.end(), {{"accuracy", agreement.value()},
                                 {"exact_match", right.value()},
                                 {"f1_samples", f1.value()},
                                 {"mcc", correlation.value()}});
    return values;
  }
  // Gorodkin 2004, from the counts of the classes.
  double chance = 0, chosen = 0, is = 0;
  for (const Counts& one : counts) {
    const auto predicted = static_cast<double>(one.predicted()),
               support = static_cast<double>(one.support());
    chance += predicted * support, chosen += predicted * predicted, is += support * support;
  }
  const double total = right.weight(), square = total * total;
  const double spread = std::sqrt((square - chosen) * (square - is));
  values.insert(values.end(), {{"accuracy", right.value()},
                               {"mcc", spread > 0 ? (right.sum() * total - chance) / spread : 0}});
  return values;
}

void TestPredictions::values(std::span<const int32_t> weights, std::span<double> out) const {
  const std::vector<Counts> all = counts(weights);
  size_t next = 0;
  for (const auto& [name, value] : metrics(weights, all)) out[next++] = value;
  for (const Counts& one : all) out[next++] = one.f1();
}

}  // namespace headwater
