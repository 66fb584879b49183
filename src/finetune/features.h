// Examples as a model reads them: [CLS] text [SEP], or two texts, cut to a length; of tagged words
// each word's pieces, the first of which is asked for the tag; of questions one row for every
// window of the context.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "finetune/task_data.h"
#include "tokens/encoder.h"
#include "train/model_trainer.h"

namespace headwater {

struct EncodeRules {
  int64_t max_length = 512;       // of a row, with special tokens
  int64_t max_query_length = 64;  // tokens of a question
  int64_t doc_stride = 128;       // tokens from one window of a context to the next
};

// A row of a batch.
struct Feature {
  int64_t example = 0;  // whose it is
  std::vector<int32_t> input_ids, token_type_ids;
  // The class; or all classes of several; of words one per token, kNoLabel where nothing is asked;
  // of questions the first and the last token of the answer, 0 and 0 where the window has none.
  std::vector<int32_t> labels;
  float value = 0;  // of regressions
  struct Piece {
    int32_t begin = 0, end = 0;  // bytes of the context
  };
  int64_t context_begin = 0;  // of questions: the row's token at which `context` begins
  std::vector<Piece> context;
  std::vector<int32_t> words;  // of words: number of the token's word at its first piece, else -1
};
inline constexpr int32_t kNoLabel = -100;

struct FeatureSet {
  std::vector<Feature> rows;
  int64_t cut = 0;  // rows that are as long as they may be: most of them were longer
  int64_t tokens() const;
};
Result<FeatureSet> encode_examples(const Task& task, const TaskData& data, const Encoder& encoder,
                                   const EncodeRules& rules);

// Rows of each batch of an epoch, a pure function of seed and epoch: shuffled, and by_length so
// that rows of a batch are about as long as one another, as transformers' group_by_length does it:
// sorted within stretches of 50 batches, the batches in random order.
std::vector<std::vector<size_t>> epoch_batches(std::span<const Feature> rows, int64_t batch_size,
                                               bool by_length, uint64_t seed, int64_t epoch);
// All rows once, the longest first.
std::vector<std::vector<size_t>> ordered_batches(std::span<const Feature> rows, int64_t batch_size);

struct BatchRules {
  TaskKind kind = TaskKind::kSingleLabel;
  int64_t labels = 0;  // of classifiers
  int32_t pad_id = 0;
  int64_t multiple = 8;              // widths are rounded up to it
  int64_t max_length = 512;          // but not over this
  std::vector<float> class_weights;  // empty: all 1
};
ModelBatch make_model_batch(std::span<const Feature> rows, std::span<const size_t> chosen,
                            const BatchRules& rules);

// Weights of classes by which all count alike: of single labels N / (L n), of several what makes
// the true ones of a label weigh as much as the others.
std::vector<float> balanced_weights(TaskKind kind, std::span<const TaskExample> examples,
                                    int64_t labels);

}  // namespace headwater
