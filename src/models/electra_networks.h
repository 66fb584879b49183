// The networks of ELECTRA (Clark et al. 2020) one by one, as Hugging Face's classes have them; the
// pair in training is electra.h.
#pragma once

#include "models/electra_config.h"
#include "models/model_io.h"

namespace headwater {

EncoderConfig encoder_config(const ElectraConfig& config);

// The heads below `network`, the place of the network's name space. E embedding size, H hidden
// size. The generator's takes hidden states to E and multiplies with `word_table` [V, E].
MaskedLmHead electra_masked_lm_head(const Scope& network, Value word_table,
                                    const ElectraConfig& config);
// One logit per token, [B, T].
Value electra_discriminator_logits(const Scope& network, Value hidden, const ElectraConfig& config,
                                   const ForwardContext& context);

// Parameters under Hugging Face's names ("electra.encoder.layer.0..."), the tied table of the
// generator as an alias. All throw GraphError. ElectraForPreTraining, the discriminator: the loss
// is a mean over real tokens.
ModelOutputs build_electra_discriminator(ParameterTree& tree, const ElectraConfig& config,
                                         const ModelInputs& inputs, const ForwardContext& context);
// ElectraForMaskedLM, the generator.
ModelOutputs build_electra_generator(ParameterTree& tree, const ElectraConfig& config,
                                     const ModelInputs& inputs, const ForwardContext& context);
// ElectraForSequenceClassification. Fresh heads of this and the next two begin as transformers'.
ModelOutputs build_electra_classifier(ParameterTree& tree, const ElectraConfig& config,
                                      const ClassifierConfig& classifier, const ModelInputs& inputs,
                                      const ForwardContext& context);
// ElectraForTokenClassification.
ModelOutputs build_electra_token_classifier(ParameterTree& tree, const ElectraConfig& config,
                                            const ClassifierConfig& classifier,
                                            const ModelInputs& inputs,
                                            const ForwardContext& context);
// ElectraForQuestionAnswering.
ModelOutputs build_electra_question_answering(ParameterTree& tree, const ElectraConfig& config,
                                              const ModelInputs& inputs,
                                              const ForwardContext& context);

}  // namespace headwater
