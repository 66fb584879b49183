// A batch: the features of some records side by side, lists filled up to one width, or several
// records in one row (packed).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "batches/record_set.h"
#include "records/example.h"

namespace headwater {

// Where a run stands in its data: all that is needed to go on. Positions count the records of the
// order over all epochs, for all replicas together, so that a run goes on with another number of
// replicas, or with another batch size, at the record it came to.
struct PipelineState {
  int64_t step = 0;      // the number of the next batch
  int64_t position = 0;  // of its first record
  int64_t offset = 0;    // packed: values of that record that earlier rows hold

  friend bool operator==(const PipelineState&, const PipelineState&) = default;
};
Json state_to_json(const PipelineState& state);
Result<PipelineState> state_from_json(const Json& json);

struct BatchFeature {
  std::string name;
  FeatureType type = FeatureType::kInt64;
  std::vector<int64_t> shape;      // [rows, width] of lists, else [rows, the feature's shape ..]
  std::vector<int32_t> ints;       // of int64: devices take 32 bits, a value over them is an error
  std::vector<float> floats;       // of float
  std::vector<std::string> texts;  // of bytes
};

struct Batch {
  int64_t step = 0;
  int64_t rows = 0;       // B of this replica
  int64_t real_rows = 0;  // the others are padding: mask 0, labels ignored
  int64_t tokens = 0;     // values of the first list, padding not counted; without lists: records
  int64_t cut = 0;        // values of the first list, of all replicas, that were cut off
  std::vector<BatchFeature> features;    // in the order of the specs; packed: and two more (below)
  std::vector<int32_t> lengths;          // [rows] values of the first list, 0 in a row of padding
  PipelineState next;                    // from where the batch behind this one goes on
  std::vector<RecordPlace> places;       // of the records in these rows
  std::shared_ptr<const RecordSet> set;  // what places point into

  const BatchFeature* find(std::string_view name) const;  // null: there is none
  // Files and record ranges, for messages.
  std::string provenance() const;
  int64_t byte_size() const;  // about
};

// Packed batches have these, [rows, width]: position_ids begin at 0 in each document (unless
// records have their own); document_ids are 1, 2 .. in a row and 0 on padding. A token sees only
// tokens of its own document; a next-token loss skips targets of another document.
inline constexpr std::string_view kPositionIds = "position_ids";
inline constexpr std::string_view kDocumentIds = "document_ids";

}  // namespace headwater
