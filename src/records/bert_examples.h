// `--task bert`: documents to the examples of BERT, ALBERT or RoBERTa: pairs of segments
// (bert_pairs.h) or full single ones (sentence_packer.h), with masks drawn here, once for all
// (static), or left to the training loop (dynamic).
//
// Features have google's names: input_ids; input_mask where lists are filled up; of pairs
// segment_ids and next_sentence_labels; with static masks masked_lm_positions, masked_lm_ids and
// masked_lm_weights, and input_ids as the model is to see them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/described.h"
#include "records/bert_pairs.h"
#include "records/example_output.h"
#include "records/sentence_packer.h"
#include "records/word_masking.h"
#include "tokens/any_tokenizer.h"

namespace headwater {

struct BertOptions {
  bool pairs = true;
  bool sentence_order = false;
  double short_seq_prob = 0.1;
  std::string masking = "dynamic";     // or "static"
  std::optional<int64_t> dupe_factor;  // unset: 10 with static masks, else 1
  bool whole_word_masking = false;
  double masked_lm_prob = 0.15;
  std::optional<int64_t> max_predictions_per_seq;  // unset: the share of a full example, rounded up
  bool pad = true;

  void describe(Fields& f);
  // Options that exclude each other. `given`: whether an option of this name was given.
  Result<> check(const std::function<bool(const char*)>& given) const;
  int64_t copies() const { return dupe_factor.value_or(masking == "static" ? 10 : 1); }
};

// What all makers of a build share.
struct BertRules {
  BertOptions options;
  int64_t max_seq_length = 128;
  SpecialIds specials;
  WordMaskingRule masking;          // of static masks
  std::optional<WordBounds> words;  // what masking points at
  Key key;

  static Result<std::shared_ptr<const BertRules>> create(const BertOptions& options,
                                                         int64_t max_seq_length,
                                                         const AnyTokenizer& tokenizer, Key key);
};

// Pairs need the documents of all lanes of a round: texts are gathered first, then made into
// examples, one copy of the round after the other.
class BertExamples {
 public:
  // A longer document is taken in parts, to bound memory.
  static constexpr size_t kMostTokens = size_t{1} << 20;

  explicit BertExamples(std::shared_ptr<const BertRules> rules);

  void start_file(int64_t number);
  void add_text(std::span<const int32_t> ids, ExampleOutput& out);
  void end_document(ExampleOutput& out);

  std::vector<TokenizedDocument> take_documents() { return std::exchange(documents_, {}); }
  int64_t copies() const { return rules_->options.copies(); }
  // `documents`: those that were taken in this round.
  void make_copy(int64_t copy, std::span<const TokenizedDocument> documents,
                 const DocumentPool& pool, ExampleOutput& out);
  void end_round() { packed_.clear(); }
  // At the end of the corpus, before the last copies.
  void finish();

 private:
  struct Packed {
    std::vector<int32_t> ids;
    Key key;
  };
  void close_part();
  void take_packed(std::span<const int32_t> ids);
  void add_pairs(const TokenizedDocument& document, uint32_t copy, const DocumentPool& pool,
                 ExampleOutput& out);
  void add_example(const SegmentExample& example, Key key, ExampleOutput& out);
  void draw_masks(std::span<int32_t> ids, Key key);
  void count(const SegmentExample& example, ExampleOutput& out) const;

  std::shared_ptr<const BertRules> rules_;
  TokenizedDocument open_;                    // of pairs: the document that is being read
  std::vector<TokenizedDocument> documents_;  // that ended in this round
  SentencePacker packer_;                     // of single segments
  int64_t file_ = 0, packed_in_file_ = 0;
  std::vector<Packed> packed_;  // in this round
  SegmentLists lists_;          // scratch of add_example, as the rest
  std::vector<int32_t> ids_, masked_positions_, masked_ids_;
  std::vector<float> masked_weights_;
};

}  // namespace headwater
