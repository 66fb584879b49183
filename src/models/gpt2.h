// GPT-2 (Radford et al. 2019): a pre-norm decoder with learned positions, trained to tell the next
// token.
//
// Parameters come up under Hugging Face's names ("transformer.h.0.attn.c_attn.weight"), weights of
// products as [in, out], and the tied head as an alias. Position t predicts the label of t + 1; the
// loss is a mean over the pairs in which both tokens are real and the label is one, so that padding
// on either side changes nothing.
#pragma once

#include "models/gpt2_config.h"
#include "models/model_io.h"

namespace headwater {

// GPT2LMHeadModel. Throws GraphError. Token types, where given, add rows of the word table.
ModelOutputs build_gpt2_lm(ParameterTree& tree, const Gpt2Config& config, const ModelInputs& inputs,
                           const ForwardContext& context);

}  // namespace headwater
