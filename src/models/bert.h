// BERT (Devlin et al. 2019): a post-norm encoder with learned positions, trained on masked tokens
// and on whether two segments belong together.
//
// Parameters come up under Hugging Face's names ("bert.encoder.layer.0..."), and the tied decoder
// as an alias. The loss of masked tokens is a mean over the labelled tokens, that of the second
// task over the batch (next sentence or sentence order: the records decide what the label means; 0
// is "belongs together"), and both are added.
#pragma once

#include "models/bert_config.h"
#include "models/model_io.h"

namespace headwater {

EncoderConfig encoder_config(const BertConfig& config);

// All throw GraphError. BertModel: states and pooled output, nothing trained.
ModelOutputs build_bert_model(ParameterTree& tree, const BertConfig& config,
                              const ModelInputs& inputs, const ForwardContext& context);
// BertForMaskedLM: no pooler.
ModelOutputs build_bert_masked_lm(ParameterTree& tree, const BertConfig& config,
                                  const ModelInputs& inputs, const ForwardContext& context);
// BertForPreTraining.
ModelOutputs build_bert_pretraining(ParameterTree& tree, const BertConfig& config,
                                    const ModelInputs& inputs, const ForwardContext& context);
// BertForSequenceClassification.
ModelOutputs build_bert_classifier(ParameterTree& tree, const BertConfig& config,
                                   const ClassifierConfig& classifier, const ModelInputs& inputs,
                                   const ForwardContext& context);
// BertForTokenClassification: no pooler.
ModelOutputs build_bert_token_classifier(ParameterTree& tree, const BertConfig& config,
                                         const ClassifierConfig& classifier,
                                         const ModelInputs& inputs, const ForwardContext& context);
// BertForQuestionAnswering: no pooler.
ModelOutputs build_bert_question_answering(ParameterTree& tree, const BertConfig& config,
                                           const ModelInputs& inputs,
                                           const ForwardContext& context);

}  // namespace headwater
