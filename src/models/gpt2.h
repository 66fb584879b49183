// GPT-2 (Radford et al. 2019): a pre-norm decoder with learned positions, trained to tell the next
// token.
//
// Parameters come up under Hugging Face's names ("transformer.h.0.attn.c_attn.weight"), weights of
// products as [in, out], and the tied head as an alias. Position t predicts the label of t + 1; the
// loss is a mean over the pairs in which both tokens are real, of one document, and the label is
// one, so that padding on either side changes nothing.
#pragma once

#include "models/gpt2_config.h"
#include "models/model_io.h"

namespace headwater {

// GPT2LMHeadModel. Throws GraphError. Token types, where given, add rows of the word table.
ModelOutputs build_gpt2_lm(ParameterTree& tree, const Gpt2Config& config, const ModelInputs& inputs,
                           const ForwardContext& context);

// The same model for decoding: logits f32 [B, V] of the token after number `last` of the T. Dropout
// is off. The cache is state called "cache[<B>x<capacity>].<layer>.key" and ".value": programs of
// the same B and capacity on one store, of any T, share it. The T tokens must fit the capacity;
// what stands behind `last` may be anything, as tokens that come later overwrite it unseen.
Value build_gpt2_decoder(ParameterTree& tree, const Gpt2Config& config, const DecoderInputs& inputs,
                         const ForwardContext& context);

}  // namespace headwater
