// Sentences to single segments that are as full as whole sentences make them, across documents with
// a [SEP] between them: RoBERTa's FULL-SENTENCES (Liu et al. 2019, section 4.2).
//
// A sentence longer than an example is cut into pieces. Nothing is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headwater {

class SentencePacker {
 public:
  SentencePacker(int64_t max_seq_length, int32_t cls, int32_t sep)
      : room_(static_cast<size_t>(max_seq_length) - 2), cls_(cls), sep_(sep) {}

  // [CLS] sentences [SEP], whenever one is full.
  template <class Emit>
  void add_sentence(std::span<const int32_t> ids, Emit emit) {
    const size_t separator = between_documents_ ? 1 : 0;
    if (pending_.size() + separator + ids.size() > room_) finish(emit);
    for (; ids.size() > room_; ids = ids.subspan(room_)) {
      pending_.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(room_));
      finish(emit);
    }
    if (between_documents_) pending_.push_back(sep_);
    between_documents_ = false;
    pending_.insert(pending_.end(), ids.begin(), ids.end());
  }
  void end_document() { between_documents_ = !pending_.empty(); }
  // What is pending, if anything.
  template <class Emit>
  void finish(Emit emit) {
    between_documents_ = false;
    if (pending_.empty()) return;
    pending_.insert(pending_.begin(), cls_);
    pending_.push_back(sep_);
    emit(std::span<const int32_t>(pending_));
    pending_.clear();
  }

 private:
  size_t room_;
  int32_t cls_, sep_;
  bool between_documents_ = false;
  std::vector<int32_t> pending_;  // without [CLS] and the last [SEP]
};

}  // namespace headwater
