// TFRecord framing: records of any bytes, each with its length and two checksums
// (docs/formats/tfrecord.md).
//
// Both checksums of every record are checked. gzip and zlib files are found by their first bytes.
// What the bytes of a record mean is not known here (records/example.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/compression.h"
#include "io/file.h"

namespace headwater {

inline constexpr int64_t kRecordHeaderBytes = 12;    // u64 length, u32 checksum of the length
inline constexpr int64_t kRecordOverheadBytes = 16;  // and u32 checksum of the payload
inline constexpr int64_t kMaxRecordBytes = int64_t{1} << 30;

// What a reader does with damaged records.
enum class DamagePolicy {
  kStop,      // an error
  kSkip,      // goes on with the next good record of the file
  kSkipFile,  // leaves the rest of the file
};
// "stop", "skip", "skip-file".
Result<DamagePolicy> parse_damage_policy(std::string_view text);

enum class DamageKind {
  kLengthChecksum,
  kPayloadChecksum,
  kTruncatedHeader,
  kTruncatedPayload,
  kTooLong,     // a length over RecordReaderOptions::max_record_bytes
  kCompression  // the gzip or zlib data around the records is damaged or cut
};
std::string_view damage_name(DamageKind kind);

struct RecordDamage {
  DamageKind kind = DamageKind::kLengthChecksum;
  int64_t record = 0;         // counted from 0; after a lost length, the number of records seen
  int64_t byte_offset = 0;    // of the record's header, in the uncompressed data
  int64_t missing_bytes = 0;  // up to the end of the record, when the file ends inside it
};

struct RecordReaderOptions {
  DamagePolicy policy = DamagePolicy::kStop;
  // A header that is cut off at the end of the file ends the file quietly, as in TensorFlow.
  bool tf_compatible = false;
  int64_t max_record_bytes = kMaxRecordBytes;
  size_t buffer_bytes = size_t{1} << 20;
};

class RecordReader {
 public:
  static Result<RecordReader> open(FileSystem& fs, const std::string& path,
                                   RecordReaderOptions options = {});
  // Records of an uncompressed stream; `name` is the file in messages.
  RecordReader(std::unique_ptr<ByteSource> source, std::string name,
               RecordReaderOptions options = {}, Compression compression = Compression::kNone);

  // The next payload, or false at the end.
  Result<bool> next(std::string& payload);
  // The same without a copy; the view lasts until the next call.
  Result<std::optional<std::string_view>> next_view();

  // Of the record that was returned or complained about last.
  int64_t record_index() const { return record_; }
  int64_t byte_offset() const { return offset_; }

  // After an error of next(): the damage behind it, if it was damage and not a failing disk.
  const std::optional<RecordDamage>& damage() const { return damage_; }
  // After an error of next(): moves behind the damage, to the next header whose checksum is right.
  // False when nothing can follow.
  Result<bool> recover();

  Compression compression() const { return compression_; }
  // Over the records returned so far, as RecordWriter::checksum().
  uint32_t checksum() const { return checksum_; }
  // With kSkip and kSkipFile: how many damages were passed over, and the errors of the first ones.
  int64_t damages_skipped() const { return damages_skipped_; }
  const std::vector<Error>& skipped_errors() const { return skipped_errors_; }

 private:
  Result<std::optional<std::string_view>> read_record();
  // Makes `bytes` bytes available at begin_, or all up to the end; returns how many are.
  Result<size_t> fill(size_t bytes);
  void consume(size_t bytes);
  std::optional<uint64_t> header_length(size_t position) const;
  Result<bool> find_header();
  tl::unexpected<Error> fail_damaged(DamageKind kind, std::string message, std::string hint,
                                     int64_t missing_bytes = 0);
  tl::unexpected<Error> fail_compression();
  std::string where() const;

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  RecordReaderOptions options_;
  Compression compression_;
  std::vector<uint8_t> buffer_;  // bytes [begin_, end_) are read and not consumed
  size_t begin_ = 0, end_ = 0;
  size_t pending_ = 0;    // of the last record: consumed by the next call
  int64_t position_ = 0;  // of begin_ in the uncompressed data
  int64_t record_ = -1, offset_ = 0, next_record_ = 0;
  bool ended_ = false, source_ended_ = false;
  std::optional<Error> source_error_;  // the decompressor's, due when its last bytes are used up
  uint32_t checksum_ = 0;
  std::optional<RecordDamage> damage_;
  int64_t damages_skipped_ = 0;
  std::vector<Error> skipped_errors_;
};

class RecordWriter {
 public:
  // `sink` must outlive the writer and is not closed. Each record is one write.
  explicit RecordWriter(ByteSink& sink) : sink_(&sink) {}
  Result<> write(std::string_view payload);

  int64_t records() const { return records_; }
  int64_t bytes() const { return bytes_; }  // written, framing included
  // CRC-32C over the payload checksums (masked, 4 bytes each, little-endian) of all records: equal
  // for equal contents, and cheap to check, because readers have those checksums at hand.
  uint32_t checksum() const { return checksum_; }

 private:
  ByteSink* sink_;
  std::string buffer_;
  int64_t records_ = 0, bytes_ = 0;
  uint32_t checksum_ = 0;
};

// The compression around the records of a file. zlib has no magic number and counts only if what it
// holds begins with a record.
Result<Compression> detect_record_compression(FileSystem& fs, const std::string& path);

// Framing of one record, for readers of single records.
struct RecordHeader {
  uint64_t length = 0;
  bool valid = false;  // the checksum of the length is right
};
RecordHeader decode_record_header(std::span<const uint8_t, kRecordHeaderBytes> bytes);
// `footer`: the 4 bytes behind the payload.
bool payload_checksum_matches(std::string_view payload, std::span<const uint8_t, 4> footer);

}  // namespace headwater
