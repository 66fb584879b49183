#include "records/record_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/crc32c.h"

namespace headwater {
namespace {

static_assert(std::endian::native == std::endian::little, "records are read by memcpy");

constexpr size_t kHeader = kRecordHeaderBytes, kFooter = 4;
constexpr size_t kSniffBytes = 4096;
constexpr size_t kMaxSkippedErrors = 20;

template <class T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

RecordHeader decode_header(const uint8_t* bytes) {
  return decode_record_header(std::span<const uint8_t, kHeader>(bytes, kHeader));
}

// Whether `start` is the beginning of a zlib stream of records, or of none.
bool holds_zlib_records(std::span<const uint8_t> start) {
  if (start.size() < 2 || start[0] != 0x78 || (start[0] * 256 + start[1]) % 31 != 0) return false;
  class Memory : public ByteSource {
   public:
    explicit Memory(std::span<const uint8_t> data) : data_(data) {}
    Result<size_t> read(std::span<uint8_t> out) override {
      const size_t n = std::min(out.size(), data_.size());
      std::copy_n(data_.begin(), n, out.begin());
      data_ = data_.subspan(n);
      return n;
    }

   private:
    std::span<const uint8_t> data_;
  };
  auto inflated = decompress(std::make_unique<Memory>(start), Compression::kZlib, "");
  if (!inflated) return false;
  uint8_t header[kHeader];
  size_t filled = 0;
  while (filled < kHeader) {
    const auto n = (*inflated)->read(std::span(header).subspan(filled));
    if (!n) return false;
    if (*n == 0) return filled == 0;
    filled += *n;
  }
  return decode_header(header).valid;
}

Compression sniff(std::span<const uint8_t> start) {
  if (start.size() >= kHeader && decode_header(start.data()).valid) return Compression::kNone;
  const Compression found = detect_compression(start);
  if (found == Compression::kNone && holds_zlib_records(start)) return Compression::kZlib;
  return found;
}

struct Opened {
  std::unique_ptr<ByteSource> source;
  Compression compression;
};

Result<Opened> open_sniffed(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, fs.open_read(path));
  std::vector<uint8_t> start(kSniffBytes);
  HW_ASSIGN_OR_RETURN(const size_t n, read_full(*source, start));
  start.resize(n);
  const Compression compression = sniff(start);
  return Opened{prepend(std::move(start), std::move(source)), compression};
}

}  // namespace

Result<DamagePolicy> parse_damage_policy(std::string_view text) {
  if (text == "stop") return DamagePolicy::kStop;
  if (text == "skip") return DamagePolicy::kSkip;
  if (text == "skip-file" || text == "skip_file") return DamagePolicy::kSkipFile;
  return fail(Code::kInvalidArgument,
              "unknown policy for damaged records '{}': stop, skip or skip-file", text);
}

std::string_view damage_name(DamageKind kind) {
  switch (kind) {
    case DamageKind::kLengthChecksum: return "length checksum";
    case DamageKind::kPayloadChecksum: return "payload checksum";
    case DamageKind::kTruncatedHeader: return "truncated header";
    case DamageKind::kTruncatedPayload: return "truncated payload";
    case DamageKind::kTooLong: return "too long";
    case DamageKind::kCompression: return "compressed data";
  }
  return "unknown";
}

RecordHeader decode_record_header(std::span<const uint8_t, kRecordHeaderBytes> bytes) {
  return {load<uint64_t>(bytes.data()),
          mask_crc(crc32c(bytes.first(8))) == load<uint32_t>(bytes.data() + 8)};
}

bool payload_checksum_matches(std::string_view payload, std::span<const uint8_t, 4> footer) {
  return mask_crc(crc32c(payload)) == load<uint32_t>(footer.data());
}

Result<Compression> detect_record_compression(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(const Opened opened, open_sniffed(fs, path));
  return opened.compression;
}

RecordReader::RecordReader(std::unique_ptr<ByteSource> source, std::string name,
                           RecordReaderOptions options, Compression compression)
    : source_(std::move(source)),
      name_(std::move(name)),
      options_(options),
      compression_(compression),
      buffer_(std::max<size_t>(options.buffer_bytes, 64)) {}

Result<RecordReader> RecordReader::open(FileSystem& fs, const std::string& path,
                                        RecordReaderOptions options) {
  HW_ASSIGN_OR_RETURN(Opened opened, open_sniffed(fs, path));
  HW_ASSIGN_OR_RETURN(auto source, decompress(std::move(opened.source), opened.compression, path));
  return RecordReader(std::move(source), path, options, opened.compression);
}

Result<bool> RecordReader::next(std::string& payload) {
  HW_ASSIGN_OR_RETURN(const std::optional<std::string_view> view, next_view());
  if (view) payload.assign(*view);
  return view.has_value();
}

Result<std::optional<std::string_view>> RecordReader::next_view() {
  while (true) {
    auto record = read_record();
    if (record || !damage_ || options_.policy == DamagePolicy::kStop) return record;
    ++damages_skipped_;
    if (skipped_errors_.size() < kMaxSkippedErrors) skipped_errors_.push_back(record.error());
    if (options_.policy == DamagePolicy::kSkipFile) ended_ = true;
    HW_ASSIGN_OR_RETURN(const bool more, recover());
    if (!more) return std::optional<std::string_view>();
  }
}

Result<std::optional<std::string_view>> RecordReader::read_record() {
  consume(std::exchange(pending_, 0));
  damage_.reset();
  if (ended_) return std::optional<std::string_view>();
  offset_ = position_;
  record_ = next_record_;
  HW_ASSIGN_OR_RETURN(const size_t available, fill(kHeader));
  if (available < kHeader && source_error_) return fail_compression();
  if (available == 0 || (available < kHeader && options_.tf_compatible)) {
    ended_ = true;
    return std::optional<std::string_view>();
  }
  ++next_record_;
  if (available < kHeader) {
    const auto missing = static_cast<int64_t>(kHeader - available);
    return fail_damaged(
        DamageKind::kTruncatedHeader,
        fmt::format("the file ends inside its header, {} of 12 bytes are missing", missing),
        "the file was cut short: get or build it again", missing);
  }
  const RecordHeader header = decode_header(buffer_.data() + begin_);
  if (!header.valid) {
    const bool first = offset_ == 0;
    return fail_damaged(DamageKind::kLengthChecksum, "its length does not match its checksum",
                        first ? "is this a TFRecord file?" : "get or build the file again");
  }
  if (header.length > static_cast<uint64_t>(options_.max_record_bytes)) {
    return fail_damaged(DamageKind::kTooLong,
                        fmt::format("its length of {} bytes is over the limit of {}", header.length,
                                    options_.max_record_bytes),
                        "get or build the file again");
  }
  const size_t length = header.length, whole = kHeader + length + kFooter;
  HW_ASSIGN_OR_RETURN(const size_t got, fill(whole));
  if (got < whole && source_error_) return fail_compression();
  if (got < whole) {
    return fail_damaged(DamageKind::kTruncatedPayload,
                        fmt::format("the file ends inside its payload, {} of {} bytes are missing",
                                    whole - got, whole - kHeader),
                        "the file was cut short: get or build it again",
                        static_cast<int64_t>(whole - got));
  }
  const uint8_t* start = buffer_.data() + begin_ + kHeader;
  const std::string_view payload(reinterpret_cast<const char*>(start), length);
  const std::span<const uint8_t, kFooter> footer(start + length, kFooter);
  if (!payload_checksum_matches(payload, footer)) {
    return fail_damaged(DamageKind::kPayloadChecksum,
                        fmt::format("its payload of {} bytes does not match its checksum", length),
                        "get or build the file again");
  }
  checksum_ = crc32c(footer, checksum_);
  pending_ = whole;
  return std::optional(payload);
}

Result<bool> RecordReader::recover() {
  if (!damage_ || ended_) return false;
  switch (damage_->kind) {
    case DamageKind::kTruncatedHeader:
    case DamageKind::kCompression: ended_ = true; return false;
    case DamageKind::kPayloadChecksum: {
      const size_t whole = kHeader + header_length(begin_).value_or(0) + kFooter;
      HW_ASSIGN_OR_RETURN(const size_t available, fill(whole + kHeader));
      // The length is right if a record or the end follows; then only this record is lost.
      if (available == whole || (available >= whole + kHeader && header_length(begin_ + whole))) {
        consume(whole);
        return true;
      }
      consume(kHeader);
      break;
    }
    case DamageKind::kLengthChecksum: consume(1); break;
    case DamageKind::kTooLong:
    case DamageKind::kTruncatedPayload: consume(kHeader); break;
  }
  return find_header();
}

Result<bool> RecordReader::find_header() {
  while (true) {
    HW_ASSIGN_OR_RETURN(const size_t available, fill(kHeader));
    if (available < kHeader) {
      ended_ = !source_error_;  // that one is still to be told
      return !ended_;
    }
    if (header_length(begin_)) return true;
    consume(1);
  }
}

std::optional<uint64_t> RecordReader::header_length(size_t position) const {
  const RecordHeader header = decode_header(buffer_.data() + position);
  if (!header.valid || header.length > static_cast<uint64_t>(options_.max_record_bytes))
    return std::nullopt;
  return header.length;
}

void RecordReader::consume(size_t bytes) {
  begin_ += bytes;
  position_ += static_cast<int64_t>(bytes);
}

Result<size_t> RecordReader::fill(size_t bytes) {
  while (end_ - begin_ < bytes && !source_ended_) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= std::exchange(begin_, 0);
    }
    // Grows only behind data that is there: a length alone allocates nothing.
    if (end_ == buffer_.size())
      buffer_.resize(std::min(2 * buffer_.size(), std::max(bytes, end_ + 1)));
    auto n = source_->read(std::span(buffer_).subspan(end_));
    if (!n) {
      if (n.error().code != Code::kDataLoss) return n;
      source_error_ = std::move(n).error();
      source_ended_ = true;
      break;
    }
    source_ended_ = *n == 0;
    end_ += *n;
  }
  return end_ - begin_;
}

tl::unexpected<Error> RecordReader::fail_damaged(DamageKind kind, std::string message,
                                                 std::string hint, int64_t missing_bytes) {
  damage_ = RecordDamage{kind, record_, offset_, missing_bytes};
  return tl::unexpected<Error>(
      Error{Code::kDataLoss, std::move(message), std::move(hint), {name_, where()}});
}

tl::unexpected<Error> RecordReader::fail_compression() {
  return fail_damaged(DamageKind::kCompression, source_error_->message, source_error_->hint);
}

std::string RecordReader::where() const {
  return fmt::format("record {} (counted from 0) at byte {}{}", record_, offset_,
                     compression_ == Compression::kNone ? "" : " unpacked");
}

Result<> RecordWriter::write(std::string_view payload) {
  if (payload.size() > static_cast<size_t>(kMaxRecordBytes)) {
    return fail(Code::kInvalidArgument, "a record of {} bytes is over the limit of {}",
                payload.size(), kMaxRecordBytes);
  }
  const uint64_t length = payload.size();
  uint8_t header[kHeader], footer[kFooter];
  std::memcpy(header, &length, sizeof length);
  const uint32_t length_crc = mask_crc(crc32c(std::span<const uint8_t>(header, 8)));
  const uint32_t payload_crc = mask_crc(crc32c(payload));
  std::memcpy(header + 8, &length_crc, sizeof length_crc);
  std::memcpy(footer, &payload_crc, sizeof payload_crc);
  buffer_.assign(reinterpret_cast<const char*>(header), kHeader);
  buffer_.append(payload);
  buffer_.append(reinterpret_cast<const char*>(footer), kFooter);
  HW_RETURN_IF_ERROR(sink_->write(buffer_));
  ++records_;
  bytes_ += static_cast<int64_t>(buffer_.size());
  checksum_ = crc32c(std::span<const uint8_t>(footer), checksum_);
  return {};
}

}  // namespace headwater
