#include "batches/record_set.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/log.h"
#include "io/compression.h"
#include "records/record_files.h"

namespace headwater {
namespace {

constexpr size_t kShownErrors = 3;
constexpr int64_t kMeterRecords = 1024;  // between two looks at the progress line

// Appends to a string.
class StringSink : public ByteSink {
 public:
  using ByteSink::write;
  explicit StringSink(std::string& out) : out_(out) {}
  Result<> write(std::span<const uint8_t> data) override {
    out_.append(reinterpret_cast<const char*>(data.data()), data.size());
    return {};
  }
  Result<> close() override { return {}; }

 private:
  std::string& out_;
};

// Takes writes and keeps nothing: a RecordWriter on it counts and sums.
class NullSink : public ByteSink {
 public:
  using ByteSink::write;
  Result<> write(std::span<const uint8_t>) override { return {}; }
  Result<> close() override { return {}; }
};

// Reads one shard through and notes its blocks.
class ShardScan {
 public:
  ShardScan(const RecordSetOptions& options, int32_t number, std::atomic<int64_t>& unpacked_total)
      : options_(options), number_(number), unpacked_total_(unpacked_total) {}

  Result<> run(FileSystem& fs, const FileInfo& file, const ByteMeter& meter) {
    shard.path = file.path;
    shard.bytes = file.size;
    RecordReaderOptions reader_options;
    reader_options.policy = options_.policy;
    reader_options.max_record_bytes = options_.max_record_bytes;
    HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(fs, file.path, reader_options));
    packed_ = reader.compression() != Compression::kNone;
    NullSink nothing;
    StringSink memory(shard.unpacked);
    RecordWriter writer(packed_ ? static_cast<ByteSink&>(memory) : nothing);
    while (true) {
      HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
      if (!payload) break;
      HW_ASSIGN_OR_RETURN(const bool good, check(*payload, reader.record_index()));
      if (!good && options_.policy == DamagePolicy::kSkipFile) break;
      if (!good) continue;
      const int64_t offset = packed_ ? writer.bytes() : reader.byte_offset();
      HW_RETURN_IF_ERROR(writer.write(*payload));
      add(offset, static_cast<int64_t>(payload->size()) + kRecordOverheadBytes,
          reader.record_index());
      if (packed_) HW_RETURN_IF_ERROR(charge_memory(writer.bytes()));
      if (writer.records() % kMeterRecords == 0) meter(reader.byte_offset());
    }
    shard.records = writer.records();
    shard.checksum = writer.checksum();
    shard.damaged += reader.damages_skipped();
    for (const Error& error : reader.skipped_errors()) errors.push_back(error);
    return {};
  }

  RecordShard shard;
  std::vector<RecordBlock> blocks;
  std::vector<Error> errors;  // the first ones that the policy passed over

 private:
  // False when the policy passes over a record that does not hold what it should.
  Result<bool> check(std::string_view payload, int64_t record) {
    if (!options_.check) return true;
    auto checked = options_.check(payload);
    if (checked) return true;
    Error error = std::move(checked).error();
    error.where.insert(error.where.begin(),
                       {shard.path, fmt::format("record {} (counted from 0)", record)});
    if (options_.policy == DamagePolicy::kStop) return tl::unexpected<Error>(std::move(error));
    ++shard.damaged;
    if (errors.size() < kShownErrors) errors.push_back(std::move(error));
    return false;
  }

  void add(int64_t offset, int64_t bytes, int64_t record) {
    const bool follows = !blocks.empty() && blocks.back().offset + blocks.back().bytes == offset &&
                         blocks.back().first_record + blocks.back().records == record;
    if (!follows || blocks.back().records >= RecordSet::kBlockRecords ||
        blocks.back().bytes + bytes > RecordSet::kBlockBytes)
      blocks.push_back({number_, 0, offset, 0, record});
    blocks.back().records += 1;
    blocks.back().bytes += bytes;
  }

  Result<> charge_memory(int64_t bytes) {
    unpacked_total_ += bytes - charged_;
    charged_ = bytes;
    if (unpacked_total_ <= options_.memory_limit) return {};
    return fail_hint(Code::kResourceExhausted, "unpack the shards on disk (gunzip)",
                     "{}: compressed shards need more than {} MB of memory", shard.path,
                     options_.memory_limit >> 20);
  }

  const RecordSetOptions& options_;
  int32_t number_;
  std::atomic<int64_t>& unpacked_total_;
  int64_t charged_ = 0;
  bool packed_ = false;
};

void warn_of_damage(const std::vector<ShardScan>& scans, int64_t damaged) {
  if (damaged == 0) return;
  size_t shown = 0;
  for (const ShardScan& scan : scans)
    for (const Error& error : scan.errors)
      if (shown++ < kShownErrors) log_warning("passed over: {}", error.to_string());
  log_warning("damaged records passed over, as asked: {}", damaged);
}

}  // namespace

Result<std::shared_ptr<const RecordSet>> RecordSet::open(FileSystem& fs,
                                                         const std::string& patterns,
                                                         const RecordSetOptions& options) {
  HW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                      list_record_files(fs, split_patterns(patterns)));
  std::atomic<int64_t> unpacked_total{0};
  std::atomic<bool> failed{false};
  std::vector<ShardScan> scans;
  scans.reserve(files.size());
  for (size_t i = 0; i < files.size(); ++i)
    scans.emplace_back(options, static_cast<int32_t>(i), unpacked_total);
  std::vector<Result<>> results(files.size());
  for_each_record_file(files, "checking records", [&](size_t i, const ByteMeter& meter) {
    if (failed) return;
    results[i] = scans[i].run(fs, files[i], meter);
    if (!results[i]) failed = true;
  });
  for (Result<>& result : results) HW_RETURN_IF_ERROR(std::move(result));
  auto set = std::shared_ptr<RecordSet>(new RecordSet(fs));
  for (ShardScan& scan : scans) {
    set->blocks_.insert(set->blocks_.end(), scan.blocks.begin(), scan.blocks.end());
    set->records_ += scan.shard.records;
    set->damaged_ += scan.shard.damaged;
    set->shards_.push_back(std::move(scan.shard));
  }
  warn_of_damage(scans, set->damaged_);
  if (set->records_ == 0)
    return fail_hint(Code::kInvalidArgument, "build records first: headwater records build",
                     "no records in the {} files of {}", files.size(), patterns);
  return std::shared_ptr<const RecordSet>(std::move(set));
}

Result<> RecordSet::read_block(const RecordBlock& block, const Visit& visit) const {
  const RecordShard& shard = shards_[static_cast<size_t>(block.shard)];
  thread_local std::string buffer;
  std::string_view bytes;
  if (!shard.unpacked.empty()) {
    bytes = std::string_view(shard.unpacked)
                .substr(static_cast<size_t>(block.offset), static_cast<size_t>(block.bytes));
  } else {
    buffer.resize(static_cast<size_t>(block.bytes));
    HW_ASSIGN_OR_RETURN(const auto file, fs_->open_random(shard.path));
    HW_ASSIGN_OR_RETURN(
        const size_t n,
        file->read_at(block.offset, {reinterpret_cast<uint8_t*>(buffer.data()), buffer.size()}));
    bytes = std::string_view(buffer).substr(0, n);
  }
  const auto changed = [&](int32_t i) {
    return fail_hint(Code::kDataLoss, "the file was changed or damaged while in use; start again",
                     "{}: not what it was when it was checked",
                     where({block.shard, block.first_record + i}));
  };
  for (int32_t i = 0; i < block.records; ++i) {
    if (bytes.size() < static_cast<size_t>(kRecordOverheadBytes)) return changed(i);
    const auto* raw = reinterpret_cast<const uint8_t*>(bytes.data());
    const RecordHeader header =
        decode_record_header(std::span<const uint8_t, kRecordHeaderBytes>(raw, kRecordHeaderBytes));
    const size_t room = bytes.size() - static_cast<size_t>(kRecordOverheadBytes);
    if (!header.valid || header.length > room) return changed(i);
    const auto payload = bytes.substr(kRecordHeaderBytes, header.length);
    const std::span<const uint8_t, 4> footer(raw + kRecordHeaderBytes + header.length, 4);
    if (!payload_checksum_matches(payload, footer)) return changed(i);
    HW_RETURN_IF_ERROR(visit(i, payload));
    bytes.remove_prefix(static_cast<size_t>(kRecordOverheadBytes) + header.length);
  }
  return {};
}

std::string RecordSet::where(RecordPlace place) const {
  return fmt::format("{}: record {} (counted from 0)",
                     shards_[static_cast<size_t>(place.shard)].path, place.record);
}

Json RecordSet::fingerprint() const {
  Json list = Json::array();
  for (const RecordShard& shard : shards_)
    list.push_back({{"name", base_name(shard.path)},
                    {"bytes", shard.bytes},
                    {"records", shard.records},
                    {"checksum", fmt::format("{:08x}", shard.checksum)}});
  return list;
}

}  // namespace headwater
