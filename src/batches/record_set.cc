#include "batches/record_set.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/log.h"
#include "batches/record_set_cache.h"
#include "io/compression.h"
#include "records/record_files.h"

namespace headwater {
namespace {

constexpr size_t kShownErrors = 3;
constexpr int64_t kMeterRecords = 1024;  // between two looks at the progress line
constexpr size_t kTextReadBytes = size_t{1} << 20;
constexpr size_t kMostOpenFiles = 64;  // of a Scratch
constexpr size_t kNamedFiles = 8;

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

}  // namespace

// Reads one shard through and notes its blocks.
class ShardScan {
 public:
  ShardScan(const RecordSetOptions& options, int32_t number, std::atomic<int64_t>& unpacked_total)
      : options_(options), number_(number), unpacked_total_(unpacked_total) {}

  Result<> run(FileSystem& fs, const FileInfo& file, const ByteMeter& meter) {
    shard.path = file.path;
    shard.bytes = file.size;
    shard.modified = file.modified;
    return options_.line_to_record ? run_lines(fs) : run_records(fs, meter);
  }

  // Of a cache, as an earlier run() left it.
  void take(const ScannedShard& known) {
    shard = known.shard;
    blocks = known.blocks;
    sizes = known.sizes;
    for (RecordBlock& block : blocks) block.shard = number_;
  }

  RecordShard shard;
  std::vector<RecordBlock> blocks;
  std::vector<RecordSize> sizes;  // with keep_sizes
  std::vector<Error> errors;      // the first ones that the policy passed over

 private:
  Result<> run_records(FileSystem& fs, const ByteMeter& meter) {
    RecordReaderOptions reader_options;
    reader_options.policy = options_.policy;
    reader_options.max_record_bytes = options_.max_record_bytes;
    HW_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::open(fs, shard.path, reader_options));
    const bool packed = reader.compression() != Compression::kNone;
    NullSink nothing;
    StringSink memory(shard.unpacked);
    RecordWriter writer(packed ? static_cast<ByteSink&>(memory) : nothing);
    while (true) {
      HW_ASSIGN_OR_RETURN(const auto payload, reader.next_view());
      if (!payload) break;
      HW_ASSIGN_OR_RETURN(const auto tokens, check(*payload, reader.record_index()));
      if (!tokens && options_.policy == DamagePolicy::kSkipFile) break;
      if (!tokens) continue;
      const int64_t offset = packed ? writer.bytes() : reader.byte_offset();
      HW_RETURN_IF_ERROR(writer.write(*payload));
      add(offset, *payload, *tokens, reader.record_index());
      if (packed)
        HW_RETURN_IF_ERROR(charge_memory(writer.bytes(), "compressed shards",
                                         "unpack the shards on disk (gunzip)"));
      if (writer.records() % kMeterRecords == 0) meter(reader.byte_offset());
    }
    shard.records = writer.records();
    shard.checksum = writer.checksum();
    shard.damaged += reader.damages_skipped();
    for (const Error& error : reader.skipped_errors()) errors.push_back(error);
    return {};
  }

  Result<> run_lines(FileSystem& fs) {
    HW_ASSIGN_OR_RETURN(const std::string text, read_text(fs));
    StringSink memory(shard.unpacked);
    RecordWriter writer(memory);
    int64_t line = 0, record = 0;
    for (std::string_view rest = text; !rest.empty(); ++line) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view content = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (content.ends_with('\r')) content.remove_suffix(1);
      if (content.empty()) continue;
      const int64_t number = record++;
      auto payload = options_.line_to_record(content);
      auto tokens = payload ? check_payload(*payload)
                            : Result<int64_t>(tl::unexpected<Error>(payload.error()));
      if (!tokens) {
        HW_RETURN_IF_ERROR(pass_over(std::move(tokens).error(), fmt::format("line {}", line + 1)));
        if (options_.policy == DamagePolicy::kSkipFile) break;
        continue;
      }
      const int64_t offset = writer.bytes();
      HW_RETURN_IF_ERROR(writer.write(*payload));
      add(offset, *payload, *tokens, number);
      HW_RETURN_IF_ERROR(charge_memory(writer.bytes(), "lines", "make records of them first"));
    }
    shard.records = writer.records();
    shard.checksum = writer.checksum();
    return {};
  }

  // The whole of a file of lines: its records are held in memory as well.
  Result<std::string> read_text(FileSystem& fs) {
    HW_ASSIGN_OR_RETURN(const auto source, open_decompressed(fs, shard.path));
    std::string text;
    std::vector<uint8_t> piece(kTextReadBytes);
    while (true) {
      HW_ASSIGN_OR_RETURN(const size_t n, source->read(piece));
      if (n == 0) return text;
      text.append(reinterpret_cast<const char*>(piece.data()), n);
      if (static_cast<int64_t>(text.size()) > options_.memory_limit)
        return fail_hint(Code::kResourceExhausted, "make records of it first",
                         "{}: over {} MB of lines", shard.path, options_.memory_limit >> 20);
    }
  }

  // The record's tokens; none when the policy passes over a record that does not hold what it
  // should.
  Result<std::optional<int64_t>> check(std::string_view payload, int64_t record) {
    auto checked = check_payload(payload);
    if (checked) return std::optional<int64_t>(*checked);
    HW_RETURN_IF_ERROR(
        pass_over(std::move(checked).error(), fmt::format("record {} (counted from 0)", record)));
    return std::optional<int64_t>();
  }

  Result<int64_t> check_payload(std::string_view payload) const {
    return options_.check ? options_.check(payload) : Result<int64_t>(0);
  }

  // Returns the error when the policy does not pass over it.
  Result<> pass_over(Error error, std::string place) {
    error.where.insert(error.where.begin(), {shard.path, std::move(place)});
    if (options_.policy == DamagePolicy::kStop) return tl::unexpected<Error>(std::move(error));
    ++shard.damaged;
    if (errors.size() < kShownErrors) errors.push_back(std::move(error));
    return {};
  }

  void add(int64_t offset, std::string_view payload, int64_t tokens, int64_t record) {
    const auto size = static_cast<int64_t>(payload.size());
    const int64_t bytes = size + kRecordOverheadBytes;
    const bool follows = !blocks.empty() && blocks.back().offset + blocks.back().bytes == offset &&
                         blocks.back().first_record + blocks.back().records == record;
    if (!follows || blocks.back().records >= RecordSet::kBlockRecords ||
        blocks.back().bytes + bytes > RecordSet::kBlockBytes)
      blocks.push_back({number_, 0, offset, 0, record});
    blocks.back().records += 1;
    blocks.back().bytes += bytes;
    blocks.back().tokens += tokens;
    shard.tokens += tokens;
    if (options_.keep_sizes)
      sizes.push_back({static_cast<uint32_t>(size), static_cast<uint32_t>(tokens)});
  }

  Result<> charge_memory(int64_t bytes, const char* what, const char* hint) {
    unpacked_total_ += bytes - charged_;
    charged_ = bytes;
    if (unpacked_total_ <= options_.memory_limit) return {};
    return fail_hint(Code::kResourceExhausted, hint, "{}: {} need more than {} MB of memory",
                     shard.path, what, options_.memory_limit >> 20);
  }

  const RecordSetOptions& options_;
  int32_t number_;
  std::atomic<int64_t>& unpacked_total_;
  int64_t charged_ = 0;
};

namespace {

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
  HW_ASSIGN_OR_RETURN(std::vector<FileInfo> files, list_record_files(fs, split_patterns(patterns)));
  const RecordSetCache cache = RecordSetCache::read(fs, options);
  std::atomic<int64_t> unpacked_total{0};
  std::atomic<bool> failed{false};
  std::vector<ShardScan> scans;
  scans.reserve(files.size());
  std::vector<FileInfo> unknown;
  std::vector<size_t> places;  // of the unknown files
  for (size_t i = 0; i < files.size(); ++i) {
    scans.emplace_back(options, static_cast<int32_t>(i), unpacked_total);
    if (const ScannedShard* const known = cache.find(files[i])) {
      scans.back().take(*known);
    } else {
      unknown.push_back(files[i]);
      places.push_back(i);
    }
  }
  std::vector<Result<>> results(unknown.size());
  for_each_record_file(unknown, "checking records", [&](size_t i, const ByteMeter& meter) {
    if (failed) return;
    results[i] = scans[places[i]].run(fs, unknown[i], meter);
    if (!results[i]) failed = true;
  });
  for (Result<>& result : results) HW_RETURN_IF_ERROR(std::move(result));
  auto set = std::shared_ptr<RecordSet>(new RecordSet(fs, options));
  for (ShardScan& scan : scans) {
    set->blocks_.insert(set->blocks_.end(), scan.blocks.begin(), scan.blocks.end());
    set->records_ += scan.shard.records;
    set->damaged_ += scan.shard.damaged;
    set->tokens_ += scan.shard.tokens;
    set->sizes_.insert(set->sizes_.end(), scan.sizes.begin(), scan.sizes.end());
    set->shards_.push_back(std::move(scan.shard));
  }
  int64_t first = 0;
  for (const RecordBlock& block : set->blocks_) {
    set->first_sizes_.push_back(first);
    first += block.records;
  }
  warn_of_damage(scans, set->damaged_);
  if (!unknown.empty()) set->write_cache();
  if (set->records_ == 0)
    return fail_hint(Code::kInvalidArgument, "build records first: headwater records build",
                     "no records in the {} files of {}", files.size(), patterns);
  return std::shared_ptr<const RecordSet>(std::move(set));
}

void RecordSet::write_cache() const {
  if (options_.cache_file.empty()) return;
  RecordSetCache cache;
  auto block = blocks_.begin();
  auto size = sizes_.begin();
  for (const RecordShard& shard : shards_) {
    ScannedShard scanned{.shard = shard, .blocks = {}, .sizes = {}};
    const auto number = static_cast<int32_t>(&shard - shards_.data());
    for (; block != blocks_.end() && block->shard == number; ++block)
      scanned.blocks.push_back(*block);
    if (keeps_sizes()) {
      scanned.sizes.assign(size, size + shard.records);
      size += shard.records;
    }
    cache.add(std::move(scanned));
  }
  if (const auto written = cache.write(*fs_, options_); !written)
    log_warning("{}: {}", options_.cache_file, written.error().to_string());
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
  for (int32_t i = 0; i < block.records; ++i) {
    HW_ASSIGN_OR_RETURN(const std::string_view payload,
                        decode(bytes, {block.shard, block.first_record + i}));
    HW_RETURN_IF_ERROR(visit(i, payload));
    bytes.remove_prefix(static_cast<size_t>(kRecordOverheadBytes) + payload.size());
  }
  return {};
}

Result<std::string_view> RecordSet::decode(std::string_view bytes, RecordPlace place) const {
  const auto overhead = static_cast<size_t>(kRecordOverheadBytes);
  const auto* raw = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() >= overhead) {
    const RecordHeader header =
        decode_record_header(std::span<const uint8_t, kRecordHeaderBytes>(raw, kRecordHeaderBytes));
    if (header.valid && header.length <= bytes.size() - overhead) {
      const auto payload = bytes.substr(kRecordHeaderBytes, header.length);
      const std::span<const uint8_t, 4> footer(raw + kRecordHeaderBytes + header.length, 4);
      if (payload_checksum_matches(payload, footer)) return payload;
    }
  }
  return fail_hint(Code::kDataLoss, "the file was changed or damaged while in use; start again",
                   "{}: not what it was when it was checked", where(place));
}

Result<std::string_view> RecordSet::read_record(int32_t block_number, int32_t i,
                                                Scratch& scratch) const {
  const RecordBlock& block = blocks_[static_cast<size_t>(block_number)];
  const RecordShard& shard = shards_[static_cast<size_t>(block.shard)];
  const RecordSize* sizes = sizes_.data() + first_size(block_number);
  int64_t offset = block.offset;
  for (int32_t before = 0; before < i; ++before)
    offset += int64_t{sizes[before].bytes} + kRecordOverheadBytes;
  const auto size = static_cast<size_t>(int64_t{sizes[i].bytes} + kRecordOverheadBytes);
  const RecordPlace place = {block.shard, block.first_record + i};
  if (!shard.unpacked.empty())
    return decode(std::string_view(shard.unpacked).substr(static_cast<size_t>(offset), size),
                  place);
  if (!scratch.files.contains(block.shard)) {
    if (scratch.files.size() >= kMostOpenFiles) scratch.files.clear();
    HW_ASSIGN_OR_RETURN(scratch.files[block.shard], fs_->open_random(shard.path));
  }
  scratch.bytes.resize(size);
  const std::span<uint8_t> out(reinterpret_cast<uint8_t*>(scratch.bytes.data()), size);
  HW_ASSIGN_OR_RETURN(const size_t n, scratch.files[block.shard]->read_at(offset, out));
  return decode(std::string_view(scratch.bytes).substr(0, n), place);
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

std::string describe_places(const RecordSet& set, std::vector<RecordPlace> sorted) {
  std::sort(sorted.begin(), sorted.end(), [](const RecordPlace& a, const RecordPlace& b) {
    return std::pair(a.shard, a.record) < std::pair(b.shard, b.record);
  });
  std::string text;
  size_t files = 0;
  for (size_t i = 0; i < sorted.size();) {
    const int32_t shard = sorted[i].shard;
    std::string ranges;
    int64_t count = 0;
    while (i < sorted.size() && sorted[i].shard == shard) {
      const int64_t first = sorted[i].record;
      int64_t last = first;
      for (; i < sorted.size() && sorted[i].shard == shard && sorted[i].record <= last + 1; ++i)
        last = sorted[i].record, ++count;
      ranges += ranges.empty() ? "" : ", ";
      ranges += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    }
    if (++files > kNamedFiles) continue;
    text += fmt::format("{}{}: {} {}", text.empty() ? "" : "; ",
                        set.shards()[static_cast<size_t>(shard)].path,
                        count == 1 ? "record" : "records", ranges);
  }
  if (files > kNamedFiles) text += fmt::format("; and {} more files", files - kNamedFiles);
  return text;
}

}  // namespace headwater
