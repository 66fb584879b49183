#include "train/optimizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace headwater {
namespace {

constexpr const char* kAdamMScale = "adam_m_scale";
constexpr const char* kAdamVScale = "adam_v_scale";
constexpr const char* kAdafactorBeta2 = "adafactor_beta2";

std::string slot_name(std::string_view parameter, std::string_view slot) {
  return fmt::format("{}#{}", parameter, slot);
}

bool is_adam(OptimizerKind kind) {
  return kind == OptimizerKind::kAdamWGoogle || kind == OptimizerKind::kAdamWHf ||
         kind == OptimizerKind::kAdamWKeras;
}

bool corrects_bias(OptimizerKind kind) {
  return kind == OptimizerKind::kAdamWHf || kind == OptimizerKind::kAdamWKeras ||
         kind == OptimizerKind::kLamb;
}

// Rows and columns are averaged apart (Shazeer & Stern 2018, section 3).
bool is_factored(const Shape& shape) { return shape.size() >= 2; }

Shape without_axis(Shape shape, size_t from_end) {
  shape.erase(shape.end() - static_cast<Shape::difference_type>(from_end));
  return shape;
}

// What the updates of all parameters have in common. Scalars, f32.
struct StepScalars {
  Value grad_scale, learning_rate;
  AdamScales adam;        // of corrected moments
  Value adafactor_beta2;  // of Adafactor
};

Value times(Value x, double factor) { return mul(x, constant_like(x, factor)); }

// decay * old + (1 - decay) * fresh
Value mix(Value old, Value fresh, double decay) {
  return add(times(old, decay), times(fresh, 1 - decay));
}

Value slot_of(const Parameter& parameter, std::string_view slot, const Shape& shape) {
  return parameter.value.graph().input(slot_name(parameter.name, slot), {DType::kF32, shape}, true);
}

Value root_mean_square(Value x) {
  return times(global_norm({x}), 1 / std::sqrt(static_cast<double>(x.type().size())));
}

Value adam(const Parameter& parameter, Value gradient, const StepScalars& step,
           AdamOptions options) {
  Graph& graph = gradient.graph();
  if (!is_decayed(parameter.name)) options.weight_decay = 0;
  const Value m = slot_of(parameter, "adam_m", parameter.value.shape());
  const Value v = slot_of(parameter, "adam_v", parameter.value.shape());
  const AdamUpdate updated = adam_update(parameter.value, m, v, gradient, step.grad_scale,
                                         step.learning_rate, options, step.adam);
  graph.update(parameter.value, updated.weight);
  graph.update(m, updated.m);
  graph.update(v, updated.v);
  return updated.weight;
}

Value sgd(const Parameter& parameter, Value gradient, const StepScalars& step,
          const SgdOptions& options) {
  Graph& graph = gradient.graph();
  const Value weight = parameter.value;
  Value change = mul(gradient, step.grad_scale);
  if (is_decayed(parameter.name) && options.weight_decay > 0)
    change = add(change, times(weight, options.weight_decay));
  if (options.momentum > 0) {
    const Value old = slot_of(parameter, "momentum", weight.shape());
    const Value momentum = add(times(old, options.momentum), change);
    graph.update(old, momentum);
    change = options.nesterov ? add(change, times(momentum, options.momentum)) : momentum;
  }
  const Value updated = sub(weight, mul(change, step.learning_rate));
  graph.update(weight, updated);
  return updated;
}

// |w| / |u|, or 1 where one of them is 0.
Value trust_ratio(Value weight, Value update) {
  const Value w = global_norm({weight}), u = global_norm({update});
  const Value zero = constant_like(w, 0), one = constant_like(w, 1);
  const Value both =
      bit_and(compare(w, zero, Direction::kGreater), compare(u, zero, Direction::kGreater));
  return select(both, div(w, u), one);
}

Value lamb(const Parameter& parameter, Value gradient, const StepScalars& step,
           const AdamOptions& options) {
  Graph& graph = gradient.graph();
  const Value weight = parameter.value;
  const Value old_m = slot_of(parameter, "adam_m", weight.shape());
  const Value old_v = slot_of(parameter, "adam_v", weight.shape());
  const Value g = mul(gradient, step.grad_scale);
  const Value m = mix(old_m, g, options.beta1), v = mix(old_v, mul(g, g), options.beta2);
  const Value root = sqrt(mul(v, step.adam.v));
  Value update = div(mul(m, step.adam.m), add(root, constant_like(root, options.epsilon)));
  Value rate = step.learning_rate;
  if (is_decayed(parameter.name)) {
    update = add(update, times(weight, options.weight_decay));
    rate = mul(rate, trust_ratio(weight, update));
  }
  const Value updated = sub(weight, mul(update, rate));
  graph.update(weight, updated);
  graph.update(old_m, m);
  graph.update(old_v, v);
  return updated;
}

Value mean(Value x, int64_t axis) {
  return times(reduce_sum(x, {axis}), 1 / static_cast<double>(x.dim(axis)));
}

// beta2 * old + (1 - beta2) * fresh, for a beta2 of this step.
Value average_of_squares(Value old, Value fresh, Value beta2) {
  const Value updated = add(mul(old, beta2), mul(fresh, sub(constant_like(beta2, 1), beta2)));
  old.graph().update(old, updated);
  return updated;
}

// The gradient over the root of its averaged square. Of a matrix the averages of rows and columns
// stand for those of the elements: row x column / mean of the rows.
Value whitened(const Parameter& parameter, Value gradient, const StepScalars& step,
               const AdafactorOptions& options) {
  const Shape& shape = gradient.shape();
  const Value square = mul(gradient, gradient);
  const Value padded = add(square, constant_like(square, options.epsilon_gradient));
  if (!is_factored(shape)) {
    const Value v = slot_of(parameter, "adafactor_v", shape);
    return mul(gradient, rsqrt(average_of_squares(v, padded, step.adafactor_beta2)));
  }
  Shape per_row = shape, per_column = shape;
  per_row.back() = 1;
  *(per_column.end() - 2) = 1;
  const Value row = average_of_squares(slot_of(parameter, "adafactor_row", without_axis(shape, 1)),
                                       mean(padded, -1), step.adafactor_beta2);
  const Value column =
      average_of_squares(slot_of(parameter, "adafactor_column", without_axis(shape, 2)),
                         mean(padded, -2), step.adafactor_beta2);
  Shape per_matrix = without_axis(shape, 1);
  per_matrix.back() = 1;
  const Value relative = div(row, reshape(mean(row, -1), per_matrix));
  return mul(mul(gradient, rsqrt(reshape(relative, per_row))), rsqrt(reshape(column, per_column)));
}

Value adafactor(const Parameter& parameter, Value gradient, const StepScalars& step,
                const AdafactorOptions& options) {
  Graph& graph = gradient.graph();
  const Value weight = parameter.value;
  Value update = whitened(parameter, mul(gradient, step.grad_scale), step, options);
  const Value excess = times(root_mean_square(update), 1 / options.clip_threshold);
  update = div(update, maximum(excess, constant_like(excess, 1)));
  Value rate = step.learning_rate;
  if (options.scale_parameter) {
    const Value size = root_mean_square(weight);
    rate = mul(rate, maximum(size, constant_like(size, options.epsilon_parameter)));
  }
  update = mul(update, rate);
  if (options.beta1 > 0) {
    const Value old = slot_of(parameter, "adafactor_m", weight.shape());
    update = mix(old, update, options.beta1);
    graph.update(old, update);
  }
  Value kept = weight;
  if (is_decayed(parameter.name) && options.weight_decay > 0)
    kept = sub(weight, mul(weight, times(rate, options.weight_decay)));
  const Value updated = sub(kept, update);
  graph.update(weight, updated);
  return updated;
}

StepScalars step_scalars(Value norm, Value learning_rate, const OptimizerOptions& options) {
  Graph& graph = norm.graph();
  const Type scalar{DType::kF32, {}};
  StepScalars step;
  step.grad_scale = constant_like(norm, 1);
  if (options.max_grad_norm > 0) {
    step.grad_scale =
        minimum(step.grad_scale, div(constant_like(norm, options.max_grad_norm), norm));
  }
  step.learning_rate = learning_rate;
  if (corrects_bias(options.kind))
    step.adam = {graph.input(kAdamMScale, scalar), graph.input(kAdamVScale, scalar)};
  if (options.kind == OptimizerKind::kAdafactor)
    step.adafactor_beta2 = graph.input(kAdafactorBeta2, scalar);
  return step;
}

Value update_one(const Parameter& parameter, Value gradient, const StepScalars& step,
                 const OptimizerOptions& options) {
  switch (options.kind) {
    case OptimizerKind::kAdamWGoogle:
    case OptimizerKind::kAdamWHf:
    case OptimizerKind::kAdamWKeras: return adam(parameter, gradient, step, options.adam);
    case OptimizerKind::kSgd: return sgd(parameter, gradient, step, options.sgd);
    case OptimizerKind::kLamb: return lamb(parameter, gradient, step, options.adam);
    case OptimizerKind::kAdafactor: break;
  }
  return adafactor(parameter, gradient, step, options.adafactor);
}

std::array<OptimizerPreset, 6> make_presets() {
  const auto with = [](OptimizerKind kind, double epsilon, double decay, double max_grad_norm) {
    OptimizerOptions options;
    options.kind = kind;
    options.adam = {.epsilon = epsilon, .weight_decay = decay};
    options.max_grad_norm = max_grad_norm;
    return options;
  };
  return {{{"adamw-google", 1e-4, with(OptimizerKind::kAdamWGoogle, 1e-6, 0.01, 1)},
           {"adamw-hf", 5e-5, with(OptimizerKind::kAdamWHf, 1e-8, 0, 1)},
           {"adamw-keras", 1e-3, with(OptimizerKind::kAdamWKeras, 1e-7, 0.004, 0)},
           {"sgd", 1e-3, with(OptimizerKind::kSgd, 1e-6, 0, 1)},
           {"lamb", 1e-3, with(OptimizerKind::kLamb, 1e-6, 0.01, 1)},
           {"adafactor", 0, with(OptimizerKind::kAdafactor, 1e-6, 0, 0)}}};
}

}  // namespace

std::span<const OptimizerPreset> optimizer_presets() {
  static const std::array<OptimizerPreset, 6> kPresets = make_presets();
  return kPresets;
}

const OptimizerPreset* find_optimizer(std::string_view name) {
  if (name == "adamw" || name == "adamw_torch" || name == "adamw_torch_fused") name = "adamw-hf";
  const auto presets = optimizer_presets();
  const auto found = std::ranges::find(presets, name, &OptimizerPreset::name);
  return found == presets.end() ? nullptr : &*found;
}

bool is_decayed(std::string_view name) {
  for (const std::string_view excluded : {"LayerNorm", "layer_norm", "bias", ".ln_"}) {
    if (name.find(excluded) != std::string_view::npos) return false;
  }
  return true;
}

double layer_rate_scale(std::string_view name, double layer_decay, int64_t layers) {
  constexpr std::string_view kLayer = "encoder.layer.";
  int64_t depth = layers + 2;
  if (const size_t at = name.find(kLayer); at != std::string_view::npos) {
    const std::string_view number = name.substr(at + kLayer.size());
    int64_t layer = 0;
    std::from_chars(number.data(), number.data() + number.size(), layer);
    depth = layer + 1;
  } else if (name.find("embeddings") != std::string_view::npos) {
    depth = 0;
  }
  return std::pow(layer_decay, static_cast<double>(layers + 2 - depth));
}

std::string adam_m_name(std::string_view parameter) { return slot_name(parameter, "adam_m"); }
std::string adam_v_name(std::string_view parameter) { return slot_name(parameter, "adam_v"); }
std::string ema_name(std::string_view parameter) { return slot_name(parameter, "ema"); }

std::vector<TensorSpec> optimizer_slots(const OptimizerOptions& options,
                                        const TensorSpec& parameter) {
  std::vector<TensorSpec> slots;
  const auto add_slot = [&](std::string_view slot, Shape shape) {
    slots.push_back({slot_name(parameter.name, slot), DType::kF32, std::move(shape)});
  };
  const Shape& shape = parameter.shape;
  if (is_adam(options.kind) || options.kind == OptimizerKind::kLamb) {
    add_slot("adam_m", shape);
    add_slot("adam_v", shape);
  } else if (options.kind == OptimizerKind::kSgd) {
    if (options.sgd.momentum > 0) add_slot("momentum", shape);
  } else {
    if (is_factored(shape)) {
      add_slot("adafactor_row", without_axis(shape, 1));
      add_slot("adafactor_column", without_axis(shape, 2));
    } else {
      add_slot("adafactor_v", shape);
    }
    if (options.adafactor.beta1 > 0) add_slot("adafactor_m", shape);
  }
  if (options.ema_decay > 0) add_slot("ema", shape);
  return slots;
}

std::vector<std::pair<std::string, double>> optimizer_feeds(const OptimizerOptions& options,
                                                            int64_t t, double learning_rate) {
  const auto count = static_cast<double>(std::max<int64_t>(1, t));
  const auto share = [&](double beta) { return 1 - std::pow(beta, count); };  // of a full moment
  const AdamOptions& adam = options.adam;
  switch (options.kind) {
    case OptimizerKind::kAdamWGoogle:
    case OptimizerKind::kSgd: break;
    case OptimizerKind::kAdamWHf:
    case OptimizerKind::kLamb:
      return {{"learning_rate", learning_rate},
              {kAdamMScale, 1 / share(adam.beta1)},
              {kAdamVScale, 1 / share(adam.beta2)}};
    case OptimizerKind::kAdamWKeras:
      return {{"learning_rate", learning_rate},
              {kAdamMScale, std::sqrt(share(adam.beta2)) / share(adam.beta1)},
              {kAdamVScale, 1}};
    case OptimizerKind::kAdafactor: {
      const AdafactorOptions& a = options.adafactor;
      const double most = a.warmup_init ? 1e-6 * count : 1e-2;
      return {
          {"learning_rate", a.relative_step ? std::min(most, 1 / std::sqrt(count)) : learning_rate},
          {kAdafactorBeta2, 1 - std::pow(count, a.decay_rate)}};
    }
  }
  return {{"learning_rate", learning_rate}};
}

void apply_optimizer(const std::vector<Parameter>& parameters, const std::vector<Value>& gradients,
                     Value norm, Value learning_rate, const OptimizerOptions& options) {
  Graph& graph = norm.graph();
  graph.set_scope("optimizer");
  const StepScalars step = step_scalars(norm, learning_rate, options);
  for (size_t i = 0; i < parameters.size(); ++i) {
    StepScalars own = step;
    if (options.layer_decay < 1) {
      own.learning_rate = times(
          learning_rate, layer_rate_scale(parameters[i].name, options.layer_decay, options.layers));
    }
    const Value updated = update_one(parameters[i], gradients[i], own, options);
    if (options.ema_decay <= 0) continue;
    const Value average = slot_of(parameters[i], "ema", updated.shape());
    graph.update(average, mix(average, updated, options.ema_decay));
  }
}

}  // namespace headwater
