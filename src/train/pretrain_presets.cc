// What presets and model sizes bring with them, and how the values of a run come together.
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

#include "train/pretrain_options.h"

namespace headwater {
namespace {

struct Recipe {
  std::string_view name;
  std::string_view values;  // a JSON object of options
};

// google-research/electra README and paper ("small++"); KoELECTRA's pretrain configs.
constexpr std::array kPresets = {
    Recipe{"tiny", R"({"model_size": "tiny"})"},
    Recipe{"small", R"({"model_size": "small"})"},
    Recipe{"small++", R"({"model_size": "small", "max_seq_length": 512,
                          "generator_hidden_size": 1.0, "num_train_steps": 4000000})"},
    Recipe{"base", R"({"model_size": "base"})"},
    Recipe{"large", R"({"model_size": "large"})"},
    Recipe{"koelectra-small-v3",
           R"({"model_size": "small", "vocab_size": 35000, "do_lower_case": false,
               "max_seq_length": 512, "train_batch_size": 512, "learning_rate": 5e-4,
               "num_train_steps": 800000, "save_checkpoints_steps": 18750,
               "generator_hidden_size": 1.0})"},
    Recipe{"koelectra-base-v3",
           R"({"model_size": "base", "vocab_size": 35000, "do_lower_case": false,
               "max_seq_length": 512, "train_batch_size": 256, "learning_rate": 2e-4,
               "num_train_steps": 1500000, "save_checkpoints_steps": 25000,
               "generator_hidden_size": 0.33333})"},
};

// Paper, appendix A (table 6). "tiny" is ours: minutes on two cores; a generator as wide as the
// discriminator that learns alone first, since a small budget leaves nothing to detect otherwise,
// and then hands its encoder on (the paper's two-stage training, section 3.2).
constexpr std::array kSizeRecipes = {
    Recipe{"tiny", R"({"max_seq_length": 64, "train_batch_size": 64, "eval_batch_size": 64,
                       "learning_rate": 1e-3, "num_warmup_steps": 500, "num_train_steps": 4000,
                       "generator_hidden_size": 1.0, "generator_warmup_steps": 1600,
                       "discriminator_from_generator": true,
                       "log_steps": 20, "eval_steps": 200, "num_eval_steps": 16,
                       "save_checkpoints_steps": 500})"},
    Recipe{"small", "{}"},
    Recipe{"base", R"({"max_seq_length": 512, "train_batch_size": 256, "learning_rate": 2e-4,
                       "num_train_steps": 766000, "generator_hidden_size": 0.33333})"},
    Recipe{"large", R"({"max_seq_length": 512, "train_batch_size": 2048, "learning_rate": 2e-4,
                        "num_train_steps": 400000, "mask_prob": 0.25})"},
};

constexpr std::string_view kDebug =
    R"({"train_batch_size": 8, "num_train_steps": 20, "eval_batch_size": 4,
        "iterations_per_loop": 1, "num_eval_steps": 2})";

Json recipe_json(std::string_view text) {
  auto parsed = parse_json(text, "recipe");
  HW_CHECK(parsed.has_value(), "a compiled-in recipe is not JSON");
  return *std::move(parsed);
}

template <size_t N>
std::string_view find_recipe(const std::array<Recipe, N>& recipes, std::string_view name) {
  for (const Recipe& recipe : recipes) {
    if (recipe.name == name) return recipe.values;
  }
  return "{}";
}

std::string in_folder(const std::string& folder, std::string_view name) {
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  names.reserve(kPresets.size());
  for (const Recipe& recipe : kPresets) names.emplace_back(recipe.name);
  return names;
}

Result<> PretrainOptions::resolve(Fields& f) {
  if (debug) HW_RETURN_IF_ERROR(f.set_defaults(recipe_json(kDebug), "debug"));
  if (preset) {
    HW_RETURN_IF_ERROR(
        f.set_defaults(recipe_json(find_recipe(kPresets, *preset)), "preset " + *preset));
  }
  if (google_defaults) {
    HW_RETURN_IF_ERROR(f.set_defaults(
        recipe_json(R"({"vocab_size": 30522, "do_lower_case": true})"), "google defaults"));
  } else {
    HW_RETURN_IF_ERROR(f.set_defaults(recipe_json(find_recipe(kSizeRecipes, model_size)),
                                      "model size " + model_size));
  }
  if (!data_dir.empty()) {
    Json paths = Json::object();
    paths["records"] = in_folder(data_dir, "pretrain_tfrecords/pretrain_data.tfrecord*");
    paths["vocab_file"] = in_folder(data_dir, "vocab.txt");
    paths["output_dir"] = in_folder(data_dir, "models/" + model_name);
    HW_RETURN_IF_ERROR(f.set_defaults(paths, "--data-dir"));
  }
  Json derived = Json::object();
  derived["max_predictions_per_seq"] =
      static_cast<int64_t>((mask_prob + 0.005) * static_cast<double>(max_seq_length));
  if (warmup_ratio) {
    derived["num_warmup_steps"] =
        static_cast<int64_t>(std::ceil(*warmup_ratio * static_cast<double>(num_train_steps)));
  }
  if (model_size == "small") derived["embedding_size"] = 128;
  HW_RETURN_IF_ERROR(f.set_defaults(derived, "derived"));
  return check();
}

Result<> PretrainOptions::check() const {
  if (do_train == do_eval) {
    return fail_hint(Code::kInvalidArgument,
                     "training evaluates held-out examples by itself, see --eval-steps",
                     "exactly one of do_train and do_eval must be true, both are {}", do_train);
  }
  for (const auto& [name, value] : {std::pair("electric_objective", electric_objective),
                                    std::pair("two_tower_generator", two_tower_generator),
                                    std::pair("uniform_generator", uniform_generator)}) {
    if (value) return fail(Code::kUnimplemented, "{} is not supported", name);
  }
  if (*max_predictions_per_seq > max_seq_length) {
    return fail(Code::kInvalidArgument, "max_predictions_per_seq {} is over max_seq_length {}",
                *max_predictions_per_seq, max_seq_length);
  }
  if (resume && !init_checkpoint.empty()) {
    return fail_hint(Code::kInvalidArgument,
                     "--resume continues the same run; --init-checkpoint begins a new one",
                     "--resume and --init-checkpoint exclude each other");
  }
  for (const auto& [name, given] :
       {std::pair("--start-step", start_step.has_value()),
        std::pair("--continue-schedule", continue_schedule.has_value()),
        std::pair("--start-learning-rate", start_learning_rate.has_value())}) {
    if (given && init_checkpoint.empty() && !resume)
      return fail(Code::kInvalidArgument, "{} goes with --init-checkpoint only", name);
  }
  if (start_learning_rate && continue_schedule) {
    return fail_hint(Code::kInvalidArgument, "give one of the two",
                     "--continue-schedule keeps the rates of a schedule, --start-learning-rate "
                     "begins a new one");
  }
  if (start_learning_rate && !extra_steps) {
    return fail_hint(Code::kInvalidArgument, "add --extra-steps N",
                     "--start-learning-rate falls to 0 over the extra steps, but there are none");
  }
  return {};
}

std::vector<std::string> PretrainOptions::notes(const Fields& f) const {
  std::vector<std::string> notes;
  for (const Field& field : f.all()) {
    if (field.group == kElsewhereGroup && field.origin.starts_with("--"))
      notes.push_back(fmt::format("{} has no effect on a CPU", field.name));
  }
  if (num_warmup_steps >= num_train_steps && !extra_steps) {
    notes.push_back(fmt::format(
        "the warm-up of {} steps does not end within the run of {}: the learning rate stays low",
        num_warmup_steps, num_train_steps));
  }
  if (!electra_objective && generator_warmup_steps > 0)
    notes.emplace_back("generator_warmup_steps has no effect without electra_objective");
  const auto differs = [&](double released) {
    return electra_objective && untied_generator &&
           std::abs(generator_hidden_size - released) > 0.01;
  };
  if (model_size == "base" && differs(0.33333)) {
    notes.push_back(
        fmt::format("generator_hidden_size is {}; the released base models have 0.33333 (256 wide)",
                    generator_hidden_size));
  }
  if (model_size == "small" && differs(1)) {
    notes.push_back(fmt::format(
        "generator_hidden_size is {}, as in the paper; the released small models have 1.0 (presets "
        "small++ and koelectra-small-v3)",
        generator_hidden_size));
  }
  return notes;
}

}  // namespace headwater
