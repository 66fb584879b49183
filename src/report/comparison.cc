#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "finetune/metrics.h"
#include "report/finished_run.h"
#include "report/statistics.h"

namespace headwater {
namespace {

constexpr size_t kDrawnPoints = 300;  // of a curve of means
constexpr double kSameMetric = 1e-6;  // a metric of ours and of the run
// What may differ between runs without making the comparison unfair.
const std::set<std::string> kFreeOptions = {"model",   "output_dir", "seed",     "resume",
                                            "threads", "overwrite",  "log_steps"};

struct Side {
  std::string name;
  std::vector<FinishedRun> runs;  // one per seed, in the order of the seeds
};

std::vector<std::string> headline_metrics(const std::string& problem_type) {
  if (problem_type == "multi_label_classification") return {"f1_micro", "f1_macro"};
  if (problem_type == "single_label_classification") return {"accuracy", "f1_macro"};
  if (problem_type == "regression") return {"pearson", "spearman"};
  return {"f1_micro", "exact_match"};
}

class Comparison {
 public:
  Comparison(FileSystem& fs, const ComparisonOptions& options) : fs_(fs), options_(options) {}

  Result<Json> run(std::span<const ComparisonSide> sides) {
    HW_RETURN_IF_ERROR(read(sides));
    HW_RETURN_IF_ERROR(pair_seeds());
    HW_RETURN_IF_ERROR(check_alike());
    HW_RETURN_IF_ERROR(choose_metrics());
    make_pairs();
    bootstrap();
    return result();
  }

 private:
  struct Pair {
    size_t from, to;  // sides
    std::vector<Interval> intervals;
  };

  Result<> read(std::span<const ComparisonSide> sides) {
    for (const ComparisonSide& side : sides) {
      sides_.push_back({side.name, {}});
      for (const std::string& folder : side.folders) {
        HW_ASSIGN_OR_RETURN(FinishedRun run, FinishedRun::read(fs_, folder));
        const auto same = std::ranges::find(sides_.back().runs, run.seed, &FinishedRun::seed);
        if (same != sides_.back().runs.end()) {
          return fail_hint(Code::kInvalidArgument, "name one of them",
                           "{}: {} and {} both have seed {}", side.name, same->folder, folder,
                           run.seed);
        }
        sides_.back().runs.push_back(std::move(run));
      }
      std::ranges::sort(sides_.back().runs, {}, &FinishedRun::seed);
    }
    return {};
  }

  // Keeps the seeds that every side has.
  Result<> pair_seeds() {
    const auto has = [](const Side& side, int64_t seed) {
      return std::ranges::find(side.runs, seed, &FinishedRun::seed) != side.runs.end();
    };
    for (const FinishedRun& run : sides_[0].runs) {
      if (std::ranges::all_of(sides_, [&](const Side& side) { return has(side, run.seed); }))
        seeds_.push_back(run.seed);
    }
    if (seeds_.empty())
      return fail_hint(Code::kInvalidArgument, "fine-tune both sides with the same --seed",
                       "the sides have no seed in common");
    for (Side& side : sides_) {
      std::erase_if(side.runs, [&](const FinishedRun& run) {
        const bool alone = std::ranges::find(seeds_, run.seed) == seeds_.end();
        if (alone)
          notes_.push_back(fmt::format("Seed {} of {} is left out: another side lacks it.",
                                       run.seed, side.name));
        return alone;
      });
    }
    return {};
  }

  const FinishedRun& first() const { return sides_[0].runs[0]; }

  Result<> check_alike() const {
    for (const Side& side : sides_) {
      for (const FinishedRun& run : side.runs) {
        const auto differ = [&](std::string_view what) {
          return fail_hint(Code::kInvalidArgument, "compare runs that differ in their model alone",
                           "{} and {} have another {}", first().folder, run.folder, what);
        };
        if (run.problem_type != first().problem_type) return differ("problem type");
        if (run.labels != first().labels) return differ("list of labels");
        if (run.split != first().split) return differ("split that was evaluated");
        const auto mine = run.digests.find(run.split), others = first().digests.find(run.split);
        if (mine != run.digests.end() && others != first().digests.end() &&
            mine->second != others->second)
          return differ(fmt::format("{} file", run.split));
        if (!run.predictions || !first().predictions) continue;
        if (run.predictions->examples() != first().predictions->examples())
          return differ("number of examples");
        for (int64_t i = 0; i < run.predictions->examples(); ++i) {
          if (run.predictions->truth(i) != first().predictions->truth(i))
            return differ(fmt::format("true label of example {}", i));
        }
      }
    }
    return {};
  }

  Result<> choose_metrics() {
    for (const auto& [name, value] : first().metrics) {
      const auto has = [&](const Side& side) {
        return std::ranges::all_of(
            side.runs, [&](const FinishedRun& run) { return run.metrics.contains(name); });
      };
      if (std::ranges::all_of(sides_, has)) metrics_.push_back(name);
    }
    tested_ = options_.metrics;
    if (tested_.empty()) {
      tested_ = headline_metrics(first().problem_type);
      std::erase_if(tested_, [&](const std::string& name) {
        return std::ranges::find(metrics_, name) == metrics_.end();
      });
    }
    for (const std::string& name : tested_) {
      if (std::ranges::find(metrics_, name) != metrics_.end()) continue;
      return fail_hint(Code::kInvalidArgument,
                       fmt::format("the runs have {}", fmt::join(metrics_, ", ")),
                       "no metric {} in all runs", name);
    }
    std::ranges::stable_sort(metrics_, {}, [&](const std::string& name) {
      return std::ranges::find(tested_, name) - tested_.begin();
    });
    return {};
  }

  // What changed, what the same number of other steps changed, and the one against the other.
  void make_pairs() {
    pairs_.push_back({0, 1, {}});
    if (sides_.size() == 3) pairs_.push_back({2, 1, {}}), pairs_.push_back({0, 2, {}});
  }

  size_t statistics() const { return metrics_.size() + first().labels.size(); }
  int64_t examples() const { return has_predictions_ ? first().predictions->examples() : 0; }

  // The place of each metric among those of the predictions; none where these do not give what the
  // run reported.
  void find_resampled() {
    has_predictions_ = std::ranges::all_of(sides_, [](const Side& side) {
      return std::ranges::all_of(side.runs,
                                 [](const FinishedRun& r) { return r.predictions.has_value(); });
    });
    places_.assign(metrics_.size(), std::nullopt);
    if (!has_predictions_) return;
    const TestPredictions& predictions = *first().predictions;
    const auto& names = predictions.metric_names();
    const std::vector<int32_t> once(static_cast<size_t>(predictions.examples()), 1);
    std::vector<double> ours(names.size() + first().labels.size());
    for (size_t i = 0; i < metrics_.size(); ++i) {
      const auto found = std::ranges::find(names, metrics_[i]);
      if (found == names.end()) continue;
      const auto place = static_cast<size_t>(found - names.begin());
      const auto same = [&](const FinishedRun& run) {
        run.predictions->values(once, ours);
        return std::abs(ours[place] - run.metrics.at(metrics_[i])) <= kSameMetric;
      };
      if (std::ranges::all_of(sides_,
                              [&](const Side& s) { return std::ranges::all_of(s.runs, same); }))
        places_[i] = place;
    }
  }

  // The run's metrics, then F1 of its labels, on a resample.
  void run_values(const FinishedRun& run, std::span<const int32_t> weights,
                  std::span<double> out) const {
    const size_t labels = first().labels.size();
    std::vector<double> counted;
    if (has_predictions_) {
      counted.resize(run.predictions->metric_names().size() + labels);
      run.predictions->values(weights, counted);
    }
    for (size_t i = 0; i < metrics_.size(); ++i)
      out[i] = places_[i] ? counted[*places_[i]] : run.metrics.at(metrics_[i]);
    for (size_t i = 0; i < labels; ++i)
      out[metrics_.size() + i] = has_predictions_ ? counted[counted.size() - labels + i] : 0;
  }

  void bootstrap() {
    find_resampled();
    const size_t width = statistics();
    const auto values = [&](int64_t seed, std::span<const int32_t> weights, std::span<double> out) {
      std::vector<double> of_sides(sides_.size() * width);
      for (size_t side = 0; side < sides_.size(); ++side) {
        run_values(sides_[side].runs[static_cast<size_t>(seed)], weights,
                   std::span(of_sides).subspan(side * width, width));
      }
      for (size_t pair = 0; pair < pairs_.size(); ++pair) {
        for (size_t i = 0; i < width; ++i)
          out[pair * width + i] =
              of_sides[pairs_[pair].to * width + i] - of_sides[pairs_[pair].from * width + i];
      }
    };
    const std::vector<Interval> all = bootstrap_intervals(
        static_cast<int64_t>(seeds_.size()), examples(),
        static_cast<int64_t>(pairs_.size() * width),
        {options_.resamples, options_.confidence, key().fold_in("bootstrap")}, values);
    for (size_t pair = 0; pair < pairs_.size(); ++pair) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(pair * width);
      pairs_[pair].intervals.assign(begin, begin + static_cast<ptrdiff_t>(width));
    }
  }

  Key key() const { return Key::from_seed(static_cast<uint64_t>(options_.seed)); }

  std::vector<double> seed_values(const Side& side, const std::string& metric) const {
    std::vector<double> values;
    for (const FinishedRun& run : side.runs) values.push_back(run.metrics.at(metric));
    return values;
  }

  static Json mean_and_deviation(std::span<const double> values) {
    const auto deviation = standard_deviation(values);
    return {{"mean", mean(values)}, {"deviation", deviation ? Json(*deviation) : Json()}};
  }
  static Json pair_of(const Interval& interval) { return {interval.low, interval.high}; }

  std::vector<double> differences(const Pair& pair, const std::string& metric) const {
    const std::vector<double> from = seed_values(sides_[pair.from], metric);
    std::vector<double> to = seed_values(sides_[pair.to], metric);
    for (size_t i = 0; i < to.size(); ++i) to[i] -= from[i];
    return to;
  }

  // p-values of the tested metrics, each and together.
  std::vector<double> p_values(const Pair& pair) const {
    std::vector<double> p;
    for (const std::string& metric : tested_)
      p.push_back(sign_flip_p(differences(pair, metric), key().fold_in("signs")));
    return p;
  }

  Json metric_json(const Pair& pair, size_t i, std::span<const double> p,
                   std::span<const double> corrected) const {
    const std::string& metric = metrics_[i];
    const std::vector<double> d = differences(pair, metric);
    const Interval& interval = pair.intervals[i];
    Json json = {{"metric", metric},
                 {"scale", is_loss(metric) ? "nats" : "share"},
                 {"from", mean_and_deviation(seed_values(sides_[pair.from], metric))},
                 {"to", mean_and_deviation(seed_values(sides_[pair.to], metric))},
                 {"difference", mean(d)},
                 {"deviation", mean_and_deviation(d)["deviation"]},
                 {"gain", is_loss(metric) ? -mean(d) : mean(d)},
                 {"by_seed", d},
                 {"interval", pair_of(interval)},
                 {"resampled", places_[i] ? "seeds and examples" : "seeds"},
                 {"tested", i < tested_.size()},
                 {"claimed", false}};
    if (i >= tested_.size()) return json;
    const auto tests = static_cast<int64_t>(tested_.size());
    const auto needed =
        seeds_needed(mean(d), standard_deviation(d).value_or(NAN), tests, options_.confidence);
    json["p"] = p[i], json["p_holm"] = corrected[i];
    json["claimed"] =
        corrected[i] <= 1 - options_.confidence && (interval.low > 0 || interval.high < 0);
    json["seeds_needed"] = needed ? Json(*needed) : Json();
    return json;
  }

  // One sentence or two, for a person who reads nothing else.
  Json verdict(const Json& m) const {
    const auto number = [](const Json& value) {
      return fmt::format("{:+.4f}", value.get<double>());
    };
    const std::string name = m["metric"].get<std::string>();
    const std::string facts = fmt::format(
        "difference {}, {:.0f} % interval {} to {}, p = {:.2g} after Holm's correction, {} seed{}",
        number(m["difference"]), 100 * options_.confidence, number(m["interval"][0]),
        number(m["interval"][1]), m["p_holm"].get<double>(), seeds_.size(),
        seeds_.size() == 1 ? "" : "s");
    if (m["claimed"].get<bool>()) {
      const bool better = m["gain"].get<double>() > 0;
      return {{"text", fmt::format("{} is {}: {}.", name, better ? "better" : "worse", facts)},
              {"claimed", true}};
    }
    std::string text = fmt::format("No difference can be claimed for {}: {}.", name, facts);
    const int64_t fewest = fewest_seeds(static_cast<int64_t>(tested_.size()), options_.confidence);
    if (static_cast<int64_t>(seeds_.size()) < fewest) {
      text += fmt::format(
          " With so few seeds none could be, however large: {} metric{} at {:.0f} % need{} at "
          "least {}.",
          tested_.size(), tested_.size() == 1 ? "" : "s", 100 * options_.confidence,
          tested_.size() == 1 ? "s" : "", fewest);
    }
    if (m["difference"].get<double>() == 0) {
    } else if (!m["seeds_needed"].is_null()) {
      text += fmt::format(" If it is as large as it looks, about {} seeds would show it.",
                          m["seeds_needed"].get<int64_t>());
    } else if (seeds_.size() > 1) {
      text += fmt::format(" It is so small beside its spread that {} seeds would not show it.",
                          kManySeeds);
    }
    return {{"text", text}, {"claimed", false}};
  }

  Json label_rows(const Pair& pair) const {
    Json rows = Json::array();
    if (!has_predictions_) return rows;
    const std::vector<int32_t> once(static_cast<size_t>(examples()), 1);
    std::vector<double> from(statistics()), to(statistics()), values(statistics());
    const auto add_means = [&](const Side& side, std::vector<double>& sums) {
      for (const FinishedRun& run : side.runs) {
        run_values(run, once, values);
        for (size_t i = 0; i < sums.size(); ++i)
          sums[i] += values[i] / static_cast<double>(side.runs.size());
      }
    };
    add_means(sides_[pair.from], from), add_means(sides_[pair.to], to);
    std::vector<int64_t> support(first().labels.size());
    for (int64_t i = 0; i < examples(); ++i)
      for (const int32_t label : first().predictions->truth(i))
        ++support[static_cast<size_t>(label)];
    for (size_t i = 0; i < first().labels.size(); ++i) {
      const size_t at = metrics_.size() + i;
      rows.push_back({{"label", first().labels[i]},
                      {"support", support[i]},
                      {"from", from[at]},
                      {"to", to[at]},
                      {"difference", to[at] - from[at]},
                      {"interval", pair_of(pair.intervals[at])}});
    }
    return rows;
  }

  // Labels that more than half of the runs chose.
  std::vector<int32_t> majority(const Side& side, int64_t example) const {
    std::vector<size_t> votes(first().labels.size());
    for (const FinishedRun& run : side.runs)
      for (const int32_t label : run.predictions->predicted(example))
        ++votes[static_cast<size_t>(label)];
    std::vector<int32_t> chosen;
    for (size_t i = 0; i < votes.size(); ++i)
      if (2 * votes[i] > side.runs.size()) chosen.push_back(static_cast<int32_t>(i));
    return chosen;
  }

  Json flips(const Pair& pair) const {
    if (!has_predictions_) return nullptr;
    const auto score = [](const Side& side, int64_t example) {
      double sum = 0;
      for (const FinishedRun& run : side.runs) sum += run.predictions->example_f1(example);
      return sum / static_cast<double>(side.runs.size());
    };
    std::vector<std::pair<double, int64_t>> changes;
    for (int64_t i = 0; i < examples(); ++i) {
      const double change = score(sides_[pair.to], i) - score(sides_[pair.from], i);
      if (std::abs(change) > 1e-12) changes.emplace_back(change, i);
    }
    std::ranges::stable_sort(changes, std::greater<>(), &std::pair<double, int64_t>::first);
    const auto gained = std::ranges::count_if(changes, [](const auto& c) { return c.first > 0; });
    const auto half = static_cast<ptrdiff_t>(options_.listed_examples / 2);
    const auto lost = static_cast<ptrdiff_t>(changes.size()) - gained;
    const std::vector<std::string> texts = example_texts(fs_, first());
    Json listed = Json::array();
    const auto list = [&](ptrdiff_t at) {
      const auto& [change, example] = changes[static_cast<size_t>(at)];
      listed.push_back({{"id", example},
                        {"change", change},
                        {"labels", first().predictions->truth(example)},
                        {"from_predicted", majority(sides_[pair.from], example)},
                        {"to_predicted", majority(sides_[pair.to], example)}});
      if (!texts.empty()) listed.back()["text"] = texts[static_cast<size_t>(example)];
    };
    for (ptrdiff_t i = 0; i < std::min(gained, half); ++i) list(i);
    for (ptrdiff_t i = std::max(gained, gained + lost - half); i < gained + lost; ++i) list(i);
    const bool multi = first().problem_type == "multi_label_classification";
    return {{"measure", multi ? "the F1 of their labels, mean of the seeds"
                              : "the number of seeds that are right"},
            {"gained", gained},
            {"lost", lost},
            {"same", examples() - gained - lost},
            {"examples", std::move(listed)}};
  }

  Json pair_json(const Pair& pair) const {
    const std::vector<double> p = p_values(pair), corrected = holm(p);
    Json metrics = Json::array(), sentences = Json::array();
    for (size_t i = 0; i < metrics_.size(); ++i)
      metrics.push_back(metric_json(pair, i, p, corrected));
    for (size_t i = 0; i < tested_.size(); ++i) sentences.push_back(verdict(metrics[i]));
    return {{"from", sides_[pair.from].name},  {"to", sides_[pair.to].name},
            {"verdict", std::move(sentences)}, {"metrics", std::move(metrics)},
            {"labels", label_rows(pair)},      {"flips", flips(pair)}};
  }

  // Means over the runs of a side, at the steps that all of them have.
  static Json side_curves(const Side& side) {
    Json curves = Json::array();
    for (const MetricSeries& series : side.runs[0].series) {
      std::map<int64_t, std::vector<double>> values;
      for (const FinishedRun& run : side.runs) {
        for (const MetricSeries& other : run.series) {
          if (other.split != series.split || other.metric != series.metric) continue;
          for (const MetricPoint& point : other.points) values[point.step].push_back(point.value);
        }
      }
      std::vector<MetricPoint> means;
      for (const auto& [step, list] : values)
        if (list.size() == side.runs.size()) means.push_back({step, mean(list)});
      Json points = Json::array();
      for (const MetricPoint& point : thinned(means, kDrawnPoints)) {
        const auto [low, high] = std::ranges::minmax(values[point.step]);
        points.push_back({point.step, point.value, low, high});
      }
      if (!points.empty())
        curves.push_back({{"split", series.split}, {"metric", series.metric}, {"points", points}});
    }
    return curves;
  }

  Json side_json(const Side& side) const {
    Json runs = Json::array(), metrics = Json::object();
    double seconds = 0, steps = 0;
    for (const FinishedRun& run : side.runs) {
      runs.push_back({{"seed", run.seed},
                      {"folder", run.folder},
                      {"best_step", run.best_step},
                      {"steps", run.steps},
                      {"seconds", run.seconds}});
      seconds += run.seconds, steps += static_cast<double>(run.steps);
    }
    for (const std::string& metric : metrics_) metrics[metric] = seed_values(side, metric);
    const auto model = side.runs[0].options.find("model");
    const auto name = model == side.runs[0].options.end() ? Result<Json>(Json())
                                                          : parse_json(model->second, "model");
    return {
        {"name", side.name},          {"model", name.value_or(Json())},
        {"runs", std::move(runs)},    {"steps_each", steps / static_cast<double>(side.runs.size())},
        {"seconds", seconds},         {"metrics", std::move(metrics)},
        {"curves", side_curves(side)}};
  }

  // Options that are not the same in all runs, with what each side has.
  Json option_differences() const {
    std::map<std::string, std::map<std::string, std::set<std::string>>> values;
    for (const Side& side : sides_)
      for (const FinishedRun& run : side.runs)
        for (const auto& [option, value] : run.options) values[option][side.name].insert(value);
    Json rows = Json::array();
    for (const auto& [option, by_side] : values) {
      std::set<std::string> all;
      for (const auto& [name, set] : by_side) all.insert(set.begin(), set.end());
      if (kFreeOptions.contains(option) || (all.size() == 1 && by_side.size() == sides_.size()))
        continue;
      Json row = {{"option", option}, {"values", Json::object()}};
      for (const Side& side : sides_) {
        const auto set = by_side.find(side.name);
        row["values"][side.name] =
            set == by_side.end() ? "" : fmt::format("{}", fmt::join(set->second, " or "));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Json digests() const {
    Json all = Json::object();
    for (const auto& [name, value] : first().digests)
      if (name != "model") all[name] = value;
    for (const Side& side : sides_) {
      const auto model = side.runs[0].digests.find("model");
      if (model != side.runs[0].digests.end()) all["model, " + side.name] = model->second;
    }
    return all;
  }

  Json result() {
    Json pairs = Json::array(), sides = Json::array(), notes = Json::array();
    for (const Pair& pair : pairs_) pairs.push_back(pair_json(pair));
    for (const Side& side : sides_) sides.push_back(side_json(side));
    const Json differences = option_differences();
    if (!differences.empty()) {
      notes_.push_back(
          "The runs differ in more than their model: the difference may be that of other "
          "settings.");
    }
    if (!has_predictions_)
      notes_.push_back(
          "Intervals are over seeds alone: not all runs have predictions of examples.");
    if (has_predictions_) {
      notes_.push_back(
          fmt::format("Intervals are from {} resamples of seeds and test examples; of metrics that "
                      "need an order of scores, of seeds "
                      "alone. Of the intervals per label about {:.0f} in 100 miss 0 by chance.",
                      options_.resamples, 100 * (1 - options_.confidence)));
    }
    for (const std::string& note : notes_) notes.push_back(note);
    return {{"headwater_comparison", 1},
            {"version", HW_VERSION},
            {"task", first().task},
            {"problem_type", first().problem_type},
            {"split", first().split},
            {"examples", has_predictions_ ? Json(examples()) : Json()},
            {"labels", first().labels},
            {"seeds", seeds_},
            {"confidence", options_.confidence},
            {"resamples", options_.resamples},
            {"pairs", std::move(pairs)},
            {"sides", std::move(sides)},
            {"notes", std::move(notes)},
            {"differences", differences},
            {"digests", digests()}};
  }

  FileSystem& fs_;
  ComparisonOptions options_;
  std::vector<Side> sides_;
  std::vector<int64_t> seeds_;
  std::vector<std::string> metrics_, tested_, notes_;  // metrics_ begins with tested_
  std::vector<std::optional<size_t>> places_;          // per metric: among those of predictions
  bool has_predictions_ = false;
  std::vector<Pair> pairs_;
};

}  // namespace

Result<Json> compare_runs(FileSystem& fs, std::span<const ComparisonSide> sides,
                          const ComparisonOptions& options) {
  return Comparison(fs, options).run(sides);
}

}  // namespace headwater
