// Rows side by side: a padded batch of one record per row, and a packed one of several.
//
// Not here: which records (batch_pipeline.h), what a record holds (row_reader.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "batches/batch.h"
#include "batches/row_reader.h"

namespace headwater {

// Of a batch of all replicas, the rows of one: [begin, end).
struct RowRange {
  int64_t begin = 0, end = 0;
};

// Fills batch.features, lengths, tokens, rows and real_rows from the rows of all replicas; widths
// are those of all, so that replicas have equal shapes. Rows behind the last are padding. An error
// names the feature.
Result<> fill_padded(const RowReader& reader, const PadTo& pad_to, std::span<const Row> rows,
                     RowRange range, Batch& batch);

// Puts documents, one after the other, into rows of one length: each into the fullest row that has
// room for it.
class RowPacker {
 public:
  RowPacker(const RowReader& reader, int64_t rows, int64_t length);

  void start();
  // Places values [begin, begin + size) of all lists as one document; returns its row, or nothing
  // when no row has room. `size` is 1 to the rows' length.
  Result<std::optional<int64_t>> add(const Row& document, int64_t begin, int64_t size);
  int64_t documents() const { return documents_; }
  bool full() const;  // no row has room for anything
  // As fill_padded; rows without a document are padding.
  void finish(RowRange range, Batch& batch) const;

 private:
  std::optional<int64_t> find_row(int64_t size) const;

  const RowReader* reader_;
  int64_t rows_, length_;
  std::vector<int64_t> used_;        // values of each row
  std::vector<int32_t> row_docs_;    // documents of each row
  std::vector<BatchFeature> lists_;  // of all replicas: the reader's, kPositionIds, kDocumentIds
  bool own_positions_ = false;       // the records have position_ids
  int64_t documents_ = 0;
};

}  // namespace headwater
