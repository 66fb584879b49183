#include "io/compression.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace headwater {
namespace {

constexpr size_t kInputBytes = size_t{1} << 16;
constexpr uint64_t kXzMemoryLimit = uint64_t{512} << 20;  // xz -9 needs 65 MiB
constexpr std::array<uint8_t, 2> kGzipMagic = {0x1f, 0x8b};
constexpr std::array<uint8_t, 4> kZstdMagic = {0x28, 0xb5, 0x2f, 0xfd};
constexpr std::array<uint8_t, 6> kXzMagic = {0xfd, '7', 'z', 'X', 'Z', 0x00};

template <size_t N>
bool starts_with(std::span<const uint8_t> data, const std::array<uint8_t, N>& magic) {
  return data.size() >= N && std::equal(magic.begin(), magic.end(), data.begin());
}

// What one call of a decoder did.
struct Step {
  size_t consumed = 0, produced = 0;
  bool at_end = false;  // between members: the input may end here
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // `last`: no input follows `in`. The error is the library's word for the damage.
  virtual tl::expected<Step, std::string> step(std::span<const uint8_t> in, std::span<uint8_t> out,
                                               bool last) = 0;
};

class ZlibDecoder : public Decoder {
 public:
  static std::unique_ptr<ZlibDecoder> create(bool gzip) {
    std::unique_ptr<ZlibDecoder> decoder(new ZlibDecoder(gzip));
    if (inflateInit2(&decoder->stream_, gzip ? 16 + MAX_WBITS : MAX_WBITS) != Z_OK) return nullptr;
    return decoder;
  }
  ~ZlibDecoder() override { inflateEnd(&stream_); }
  ZlibDecoder(const ZlibDecoder&) = delete;
  ZlibDecoder& operator=(const ZlibDecoder&) = delete;

  tl::expected<Step, std::string> step(std::span<const uint8_t> in, std::span<uint8_t> out,
                                       bool) override {
    size_t skipped = 0;
    if (between_members_) {
      // Zero padding may follow a member (tapes, block devices); another member may, too.
      while (skipped < in.size() && in[skipped] == 0) ++skipped;
      if (skipped == in.size()) return Step{skipped, 0, true};
      if (!gzip_ || (skipped > 0)) return tl::unexpected(std::string("data after its end"));
      inflateReset(&stream_);
      between_members_ = false;
    }
    stream_.next_in = const_cast<Bytef*>(in.data());  // zlib reads only
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), size_t{1} << 30));
    const uInt offered = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return tl::unexpected(std::string(stream_.msg != nullptr ? stream_.msg : zError(status)));
    }
    between_members_ = status == Z_STREAM_END;
    return Step{in.size() - stream_.avail_in, offered - stream_.avail_out, between_members_};
  }

 private:
  explicit ZlibDecoder(bool gzip) : gzip_(gzip) {}
  z_stream stream_{};
  bool gzip_, between_members_ = false;
};

class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream(), ZSTD_freeDStream) {}
  tl::expected<Step, std::string> step(std::span<const uint8_t> in, std::span<uint8_t> out,
                                       bool) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const size_t status = ZSTD_decompressStream(stream_.get(), &output, &input);
    if (ZSTD_isError(status) != 0) return tl::unexpected(std::string(ZSTD_getErrorName(status)));
    return Step{input.pos, output.pos, status == 0};
  }

 private:
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
};

class XzDecoder : public Decoder {
 public:
  static std::unique_ptr<XzDecoder> create() {
    std::unique_ptr<XzDecoder> decoder(new XzDecoder());
    if (lzma_stream_decoder(&decoder->stream_, kXzMemoryLimit, LZMA_CONCATENATED) != LZMA_OK)
      return nullptr;
    return decoder;
  }
  ~XzDecoder() override { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  tl::expected<Step, std::string> step(std::span<const uint8_t> in, std::span<uint8_t> out,
                                       bool last) override {
    if (ended_) return Step{0, 0, true};
    stream_.next_in = in.data();
    stream_.avail_in = in.size();
    stream_.next_out = out.data();
    stream_.avail_out = out.size();
    const lzma_ret status = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    switch (status) {
      case LZMA_STREAM_END: ended_ = true; break;
      case LZMA_OK:
      case LZMA_BUF_ERROR: break;
      case LZMA_MEMLIMIT_ERROR: return tl::unexpected(std::string("needs more than 512 MiB"));
      case LZMA_FORMAT_ERROR: return tl::unexpected(std::string("data after its end"));
      case LZMA_OPTIONS_ERROR: return tl::unexpected(std::string("unsupported options"));
      default: return tl::unexpected(std::string("invalid data"));
    }
    return Step{in.size() - stream_.avail_in, out.size() - stream_.avail_out, ended_};
  }

 private:
  XzDecoder() = default;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

class DecompressedSource : public ByteSource {
 public:
  DecompressedSource(std::unique_ptr<ByteSource> source, std::unique_ptr<Decoder> decoder,
                     Compression compression, std::string name)
      : source_(std::move(source)),
        decoder_(std::move(decoder)),
        compression_(compression),
        name_(std::move(name)),
        buffer_(kInputBytes) {}

  Result<size_t> read(std::span<uint8_t> out) override {
    if (out.empty()) return size_t{0};
    while (true) {
      if (begin_ == end_ && !source_ended_) HW_RETURN_IF_ERROR(refill());
      const auto step =
          decoder_->step({buffer_.data() + begin_, end_ - begin_}, out, source_ended_);
      if (!step) {
        return damage(
            "get the file again",
            fmt::format("damaged {} data: {}", compression_name(compression_), step.error()));
      }
      begin_ += step->consumed;
      at_end_ = step->at_end || (at_end_ && step->consumed == 0 && step->produced == 0);
      if (step->produced > 0) return step->produced;
      if (step->consumed > 0 || (begin_ == end_ && !source_ended_)) continue;
      if (at_end_ && begin_ == end_) return size_t{0};
      return damage("the file was cut short: get it again",
                    fmt::format("{} data ends early, after {} compressed bytes",
                                compression_name(compression_), total_));
    }
  }

 private:
  tl::unexpected<Error> damage(std::string hint, std::string message) const {
    return tl::unexpected<Error>(
        Error{Code::kDataLoss, std::move(message), std::move(hint), {name_}});
  }

  Result<> refill() {
    HW_ASSIGN_OR_RETURN(end_, source_->read(buffer_));
    begin_ = 0;
    total_ += static_cast<int64_t>(end_);
    source_ended_ = end_ == 0;
    return {};
  }

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<Decoder> decoder_;
  Compression compression_;
  std::string name_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0, end_ = 0;
  int64_t total_ = 0;
  bool source_ended_ = false, at_end_ = false;
};

class PrependedSource : public ByteSource {
 public:
  PrependedSource(std::vector<uint8_t> start, std::unique_ptr<ByteSource> rest)
      : start_(std::move(start)), rest_(std::move(rest)) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    if (position_ == start_.size()) return rest_->read(out);
    const size_t n = std::min(out.size(), start_.size() - position_);
    std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(position_), n, out.begin());
    position_ += n;
    return n;
  }

 private:
  std::vector<uint8_t> start_;
  size_t position_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::kGzip: return ZlibDecoder::create(true);
    case Compression::kZlib: return ZlibDecoder::create(false);
    case Compression::kZstd: return std::make_unique<ZstdDecoder>();
    case Compression::kXz: return XzDecoder::create();
    case Compression::kNone: break;
  }
  return nullptr;
}

}  // namespace

Compression detect_compression(std::span<const uint8_t> start) {
  if (starts_with(start, kGzipMagic)) return Compression::kGzip;
  if (starts_with(start, kZstdMagic)) return Compression::kZstd;
  if (starts_with(start, kXzMagic)) return Compression::kXz;
  return Compression::kNone;
}

std::string_view compression_name(Compression compression) {
  switch (compression) {
    case Compression::kNone: return "plain";
    case Compression::kGzip: return "gzip";
    case Compression::kZlib: return "zlib";
    case Compression::kZstd: return "zstd";
    case Compression::kXz: return "xz";
  }
  return "unknown";
}

std::unique_ptr<ByteSource> prepend(std::vector<uint8_t> start, std::unique_ptr<ByteSource> rest) {
  return std::make_unique<PrependedSource>(std::move(start), std::move(rest));
}

Result<std::unique_ptr<ByteSource>> decompress(std::unique_ptr<ByteSource> source,
                                               Compression compression, std::string name) {
  if (compression == Compression::kNone) return source;
  std::unique_ptr<Decoder> decoder = make_decoder(compression);
  if (decoder == nullptr) {
    return fail(Code::kResourceExhausted, "{}: no memory for the {} decoder", name,
                compression_name(compression));
  }
  return std::make_unique<DecompressedSource>(std::move(source), std::move(decoder), compression,
                                              std::move(name));
}

Result<size_t> read_full(ByteSource& source, std::span<uint8_t> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    HW_ASSIGN_OR_RETURN(const size_t n, source.read(out.subspan(filled)));
    if (n == 0) break;
    filled += n;
  }
  return filled;
}

Result<std::unique_ptr<ByteSource>> open_decompressed(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, fs.open_read(path));
  std::vector<uint8_t> start(kCompressionMagicBytes);
  HW_ASSIGN_OR_RETURN(const size_t n, read_full(*source, start));
  start.resize(n);
  const Compression compression = detect_compression(start);
  return decompress(prepend(std::move(start), std::move(source)), compression, path);
}

}  // namespace headwater
