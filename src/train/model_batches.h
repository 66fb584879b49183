// From batches of records to batches of a model: which feature plays which part, the labels of an
// objective, and the masks of a masked language model.
//
// Features are known by the names that Hugging Face and google's builders give them:
//
//   input_ids                                      what the model reads
//   attention_mask, input_mask                     1 at a real token; missing: all that is no
//   padding token_type_ids, segment_ids; position_ids labels, label_ids, label -100 where nothing
//   is asked masked_lm_positions, _ids, _weights            labels that were drawn when the records
//   were built next_sentence_label(s), sentence_order_label   of sentence pairs
//
// A masked language model without labels draws masks anew for every batch (word_masking.h), a pure
// function of seed and batch number.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "batches/batch.h"
#include "batches/line_records.h"
#include "records/word_masking.h"
#include "records/feature_specs.h"
#include "train/model_trainer.h"

namespace headwater {

struct ModelBatchRules {
  Objective objective = Objective::kClm;
  ClassifierConfig classifier;  // of classification
  bool has_token_types = true;  // the model reads them
  WordMaskingRule masking;      // of masked language models without labels
  uint64_t seed = 0;
  bool evaluates = false;  // other masks than training, the same in every pass
};

class ModelBatchMaker {
 public:
  // An error when the features cannot serve the objective: it says what is missing.
  static Result<ModelBatchMaker> create(std::span<const FeatureSpec> features, bool packed,
                                        const ModelBatchRules& rules);

  Result<ModelBatch> make(const Batch& batch) const;
  // Whether it draws masks itself: what needs a tokenizer.
  bool draws_masks() const { return draws_masks_; }
  // Features that play no part, for a note.
  const std::vector<std::string>& unused() const { return unused_; }

 private:
  // Names of features, empty where there is none.
  struct Parts {
    std::string input_ids, attention_mask, token_type_ids, position_ids, document_ids;
    std::string labels, masked_positions, masked_ids, masked_weights, sentence_label;
  };

  explicit ModelBatchMaker(const ModelBatchRules& rules) : rules_(rules) {}
  Result<> assign(const std::string& name);
  Result<> check() const;
  void add_mask(const Batch& batch, ModelBatch& made) const;
  Result<> add_labels(const Batch& batch, ModelBatch& made) const;
  Result<> add_classes(const Batch& batch, ModelBatch& made) const;
  Result<> add_masked_labels(const Batch& batch, ModelBatch& made) const;
  void draw_masks(ModelBatch& made) const;

  ModelBatchRules rules_;
  Parts parts_;
  bool draws_masks_ = false;
  std::vector<std::string> unused_;
};

// The tokens of a batch that see each other: rows without padding.
std::vector<std::span<const int32_t>> documents_of(const ModelBatch& batch);

// The features of records that come without a description, as the first record has them: those of
// the names above; lists of any length where a batch may be padded. kNotFound when it has no
// input_ids.
Result<std::vector<FeatureSpec>> features_of_record(const Example& example);
Result<std::vector<FeatureSpec>> find_features(FileSystem& fs, const std::string& records,
                                               RecordFormat format);

}  // namespace headwater
