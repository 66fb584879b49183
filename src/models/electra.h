// ELECTRA (Clark et al. 2020): a generator fills masked positions, a discriminator tells which
// tokens were replaced. With electra_objective off: one encoder trained as a masked language model,
// as BERT.
//
// Behaviour is that of google-research/electra: masks drawn with replacement (duplicates count
// twice in the loss), the tokens of a position that was drawn more than once averaged, a sample
// that equals the original labelled original, embeddings shared between the networks, no gradient
// through the samples.
#pragma once

#include "models/electra_networks.h"

namespace headwater {

struct ElectraObjective {
  bool electra_objective = true;             // false: masked language model only
  bool untied_generator = true;              // false: one encoder serves as both networks
  bool untied_generator_embeddings = false;  // true: the generator has tables of its own
  bool disallow_correct = false;             // never sample the original token
  double temperature = 1;                    // of the samples
  double gen_weight = 1, disc_weight = 50;
};

// B batch, T time, N masked slots per row.
struct ElectraInputs {
  Value input_ids, input_mask, segment_ids;  // i32 [B, T]
  Value masked_input_ids;                    // i32 [B, T]: input_ids with [MASK] written in
  Value masked_lm_positions, masked_lm_ids;  // i32 [B, N]
  Value masked_lm_weights;                   // f32 [B, N]: 1, or 0 for an unused slot
  // May be invalid:
  Value sampled_ids;  // i32 [B N]: given samples instead of drawn ones (replays)
  // f32 scalars: what the losses are divided by, when this batch is a part of a larger one
  // (gradient accumulation).
  Value mlm_weight_total, disc_weight_total;
};

struct ElectraOutputs {
  Value mlm_slot_loss;             // f32 [B N]
  Value mlm_predictions, samples;  // i32 [B N]
  Value mlm_loss;                  // f32 scalar, weighted mean over the slots
  // Invalid when electra_objective is off.
  Value fake_ids;     // i32 [B, T]
  Value is_fake;      // i32 [B, T]
  Value disc_logits;  // f32 [B, T]
  Value disc_loss;    // f32 scalar, mean over real tokens
  Value total_loss;
};

// Parameters come up under "discriminator." and "generator." of the tree; the one encoder of
// electra_objective off or untied_generator off is the discriminator's. `with_discriminator` false
// leaves the discriminator and its loss out (the generator learning alone). Throws GraphError.
ElectraOutputs build_electra(ParameterTree& tree, const ElectraConfig& discriminator,
                             const ElectraConfig& generator, const ElectraObjective& objective,
                             const ElectraInputs& inputs, const ForwardContext& context,
                             bool with_discriminator = true);

}  // namespace headwater
