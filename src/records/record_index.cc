#include "records/record_index.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace headwater {
namespace {

constexpr size_t kScanBytes = size_t{1} << 18;

// Uncompressed data in memory behind the interface of a file.
class MemoryFile : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string content) : content_(std::move(content)) {}
  Result<size_t> read_at(int64_t offset, std::span<uint8_t> out) const override {
    if (offset < 0 || static_cast<size_t>(offset) >= content_.size()) return size_t{0};
    const size_t n = std::min(out.size(), content_.size() - static_cast<size_t>(offset));
    std::memcpy(out.data(), content_.data() + offset, n);
    return n;
  }

 private:
  std::string content_;
};

Result<std::string> unpack(FileSystem& fs, const RecordIndex& index, int64_t memory_limit) {
  if (index.unpacked_bytes > memory_limit) {
    return fail_hint(Code::kResourceExhausted, "unpack the file on disk first",
                     "{} is {} compressed and needs {} bytes of memory, over the limit of {}",
                     index.path, compression_name(index.compression), index.unpacked_bytes,
                     memory_limit);
  }
  HW_ASSIGN_OR_RETURN(auto packed, fs.open_read(index.path));
  HW_ASSIGN_OR_RETURN(auto source, decompress(std::move(packed), index.compression, index.path));
  std::string content(static_cast<size_t>(index.unpacked_bytes), '\0');
  HW_ASSIGN_OR_RETURN(
      const size_t n,
      read_full(*source, {reinterpret_cast<uint8_t*>(content.data()), content.size()}));
  content.resize(n);
  return content;
}

// Reads every record: for compressed files, and for files whose headers do not all hold.
Result<RecordIndex> index_by_reading(FileSystem& fs, const std::string& path,
                                     const RecordReaderOptions& options) {
  HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(fs, path, options));
  RecordIndex index{path, reader.compression(), 0, {}, 0};
  while (true) {
    HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
    if (!payload) break;
    const RecordSpan span{reader.byte_offset(), static_cast<int64_t>(payload->size())};
    index.records.push_back(span);
    index.unpacked_bytes = span.offset + kRecordOverheadBytes + span.length;
  }
  index.damages_skipped = reader.damages_skipped();
  return index;
}

// Hops from header to header. False when one does not hold.
Result<bool> hop_headers(const RandomAccessFile& file, int64_t file_bytes, int64_t max_record_bytes,
                         std::vector<RecordSpan>& records) {
  std::vector<uint8_t> window(kScanBytes);
  int64_t start = 0, end = 0, offset = 0;  // the window holds [start, end) of the file
  while (offset < file_bytes) {
    if (offset + kRecordHeaderBytes > end) {
      HW_ASSIGN_OR_RETURN(const size_t n, file.read_at(offset, window));
      start = offset;
      end = offset + static_cast<int64_t>(n);
      if (n < static_cast<size_t>(kRecordHeaderBytes)) return false;
    }
    const RecordHeader header = decode_record_header(
        std::span<const uint8_t>(window).subspan(static_cast<size_t>(offset - start)).first<12>());
    const int64_t left = file_bytes - offset - kRecordOverheadBytes;
    if (!header.valid || left < 0 || header.length > static_cast<uint64_t>(left) ||
        header.length > static_cast<uint64_t>(max_record_bytes))
      return false;
    records.push_back({offset, static_cast<int64_t>(header.length)});
    offset += kRecordOverheadBytes + static_cast<int64_t>(header.length);
  }
  return true;
}

}  // namespace

Result<RecordIndex> index_records(FileSystem& fs, const std::string& path,
                                  RecordReaderOptions options) {
  HW_ASSIGN_OR_RETURN(const Compression compression, detect_record_compression(fs, path));
  if (compression == Compression::kNone) {
    HW_ASSIGN_OR_RETURN(const FileInfo info, fs.info(path));
    HW_ASSIGN_OR_RETURN(const auto file, fs.open_random(path));
    RecordIndex index{path, compression, info.size, {}, 0};
    HW_ASSIGN_OR_RETURN(const bool whole,
                        hop_headers(*file, info.size, options.max_record_bytes, index.records));
    if (whole) return index;
  }
  // Compressed, or damaged: the sequential reader has the words and the policies for it.
  return index_by_reading(fs, path, options);
}

Result<RandomRecordReader> RandomRecordReader::open(FileSystem& fs, RecordIndex index,
                                                    int64_t memory_limit) {
  if (index.compression == Compression::kNone) {
    HW_ASSIGN_OR_RETURN(auto file, fs.open_random(index.path));
    return RandomRecordReader(std::move(file), std::move(index));
  }
  HW_ASSIGN_OR_RETURN(std::string content, unpack(fs, index, memory_limit));
  return RandomRecordReader(std::make_unique<MemoryFile>(std::move(content)), std::move(index));
}

Result<> RandomRecordReader::read(int64_t i, std::string& payload) const {
  if (i < 0 || i >= size()) {
    return fail(Code::kOutOfRange, "{}: no record {} among {}", index_.path, i, size());
  }
  const RecordSpan span = index_.records[static_cast<size_t>(i)];
  const auto damaged = [&](std::string message) {
    return tl::unexpected<Error>(Error{Code::kDataLoss,
                                       std::move(message),
                                       "get or build the file again",
                                       {index_.path, where(i)}});
  };
  if (span.length < 0 || span.length > kMaxRecordBytes) return damaged("its length is impossible");
  payload.resize(static_cast<size_t>(span.length + kRecordOverheadBytes));
  HW_ASSIGN_OR_RETURN(
      const size_t n,
      file_->read_at(span.offset, {reinterpret_cast<uint8_t*>(payload.data()), payload.size()}));
  if (n < payload.size()) {
    return damaged(
        fmt::format("the file ends inside it, {} bytes are missing", payload.size() - n));
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
  const RecordHeader header =
      decode_record_header(std::span<const uint8_t, kRecordHeaderBytes>(bytes, kRecordHeaderBytes));
  if (!header.valid || header.length != static_cast<uint64_t>(span.length)) {
    return damaged("its length does not match its checksum or the index");
  }
  const auto length = static_cast<size_t>(span.length);
  if (!payload_checksum_matches(
          std::string_view(payload).substr(kRecordHeaderBytes, length),
          std::span<const uint8_t, 4>(bytes + kRecordHeaderBytes + length, 4))) {
    return damaged(fmt::format("its payload of {} bytes does not match its checksum", length));
  }
  payload.erase(0, kRecordHeaderBytes);
  payload.resize(length);
  return {};
}

std::string RandomRecordReader::where(int64_t i) const {
  return fmt::format("record {} (counted from 0) at byte {}", i,
                     index_.records[static_cast<size_t>(i)].offset);
}

}  // namespace headwater
