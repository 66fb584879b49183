// Optimizers: how gradients become new parameters, as state updates of a step's graph.
//
//   adamw-google  Adam with decoupled weight decay, its moments uncorrected: BERT's and ELECTRA's
//   adamw-hf      the same with corrected moments (Loshchilov & Hutter 2019), as PyTorch's AdamW
//   adamw-keras   corrected in the rate only, so that epsilon weighs otherwise, as Keras has it
//   sgd           with momentum, and decay as a part of the gradient, as PyTorch's
//   lamb          You et al. 2020, algorithm 2
//   adafactor     Shazeer & Stern 2018, as transformers has it
//
// Gradients are first clipped by their global norm. What hangs on the number of updates done is
// computed on the host (optimizer_feeds), so a graph is the same for every step.
#pragma once

#include <optional>
#include <span>

#include "checkpoints/fit.h"
#include "models/scope.h"
#include "ops/ops.h"

namespace headwater {

enum class OptimizerKind { kAdamWGoogle, kAdamWHf, kAdamWKeras, kSgd, kLamb, kAdafactor };

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
};

struct AdafactorOptions {
  double epsilon_gradient = 1e-30, epsilon_parameter = 1e-3;  // under squares, and under sizes
  double clip_threshold = 1;                                  // of an update's root mean square
  double decay_rate = -0.8;     // of the average of squares: beta2 = 1 - t^decay_rate
  double beta1 = 0;             // 0: no first moment
  bool scale_parameter = true;  // rates are relative to the size of the parameter
  bool relative_step = true;    // min(1e-2, 1 / sqrt(t)) is the rate, whatever the schedule says
  bool warmup_init = false;     // min(1e-6 t, 1 / sqrt(t)) instead
  double weight_decay = 0;
};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamWGoogle;
  AdamOptions adam;  // of every AdamW, and of LAMB
  SgdOptions sgd;
  AdafactorOptions adafactor;
  double max_grad_norm = 1;  // of all gradients together; 0: no clipping
  // Of an exponential moving average of the parameters, kept beside them; 0: none.
  double ema_decay = 0;
  // Of the rate from layer to layer downwards (google's fine-tuning): layer_rate_scale(); 1: none.
  double layer_decay = 1;
  int64_t layers = 0;  // of the encoder
};

// An optimizer with the values that its home gives it.
struct OptimizerPreset {
  std::string_view name;
  double learning_rate;  // 0: it has its own
  OptimizerOptions options;
};
std::span<const OptimizerPreset> optimizer_presets();
// By its name above, or as transformers spells it: "adamw_torch", "adamw_torch_fused", "adamw".
const OptimizerPreset* find_optimizer(std::string_view name);

// Weight decay leaves out biases and layer norms: a parameter whose name contains LayerNorm,
// layer_norm, bias (google's rule) or a component ln_* (GPT-2's layer norms). For the families here
// that is also transformers' rule. LAMB leaves the same ones out of its trust ratio.
bool is_decayed(std::string_view parameter_name);

// What the rate of a parameter is multiplied with: layer_decay^(layers + 2 - depth), the embeddings
// and their projection having depth 0, layer i depth i + 1, and the head depth layers + 2. The last
// layer thus gets layer_decay^2 and not ^1, as google's code has it and its scores were made with.
double layer_rate_scale(std::string_view parameter_name, double layer_decay, int64_t layers);

// The slots of a parameter: moments "#adam_m", "#adam_v" of AdamW and LAMB, "#momentum" of SGD;
// "#adafactor_row" and "#adafactor_column", or "#adafactor_v" of a vector, and "#adafactor_m";
// "#ema" comes last. All start as zeros but the average, which starts as the parameter.
std::vector<TensorSpec> optimizer_slots(const OptimizerOptions& options,
                                        const TensorSpec& parameter);
std::string adam_m_name(std::string_view parameter);
std::string adam_v_name(std::string_view parameter);
std::string ema_name(std::string_view parameter);

// What the graph is fed for update number `t`, counted from 1 since the slots were zero: f32
// scalars by name. `learning_rate` is the schedule's.
std::vector<std::pair<std::string, double>> optimizer_feeds(const OptimizerOptions& options,
                                                            int64_t t, double learning_rate);

// Adds clipping by the global norm `norm` and one update for every parameter. Feeds of
// optimizer_feeds() but the rate are added to the graph.
void apply_optimizer(const std::vector<Parameter>& parameters, const std::vector<Value>& gradients,
                     Value norm, Value learning_rate, const OptimizerOptions& options);

}  // namespace headwater
