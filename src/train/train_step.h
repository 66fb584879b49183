// ELECTRA pre-training as a step: what is fed, what comes out, and the graphs of step_graph.h
// around it.
#pragma once

#include "models/electra.h"
#include "train/step_graph.h"

namespace headwater {

struct BatchSizes {
  int64_t batch_size = 0, seq_length = 0, max_predictions = 0;
};

struct ElectraGraphOptions {
  ElectraConfig discriminator, generator;
  ElectraObjective objective;
  BatchSizes sizes;
  bool with_discriminator = true;  // false: the generator learns alone
  bool freeze_tables = false;      // the embedding tables are not trained
  // Feeds "mlm_weight_total", "disc_weight_total" f32 [] replace the sums of this batch's weights.
  bool given_totals = false;
  bool given_samples = false;  // a feed "sampled_ids" i32 [B N] replaces the drawn samples
};

// Fed: input_ids, input_mask, segment_ids, masked_input_ids i32 [B, T]; masked_lm_positions,
// masked_lm_ids i32 [B, N]; masked_lm_weights f32 [B, N]; key u32 [2]. Outputs: mlm_loss,
// total_loss; mlm_slot_loss, mlm_predictions, samples [B N]; with a discriminator also disc_loss;
// disc_logits, is_fake, fake_ids [B, T].
StepParts electra_step(const ElectraGraphOptions& options);

}  // namespace headwater
