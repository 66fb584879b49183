// Decompression: every format whole, concatenated, cut at every byte, flipped at every byte, and
// under short reads.
#include "io/compression.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/threefry.h"
#include "io/fault_files.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

std::string gzip(std::string_view text, int window_bits = 16 + MAX_WBITS) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string xz(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(3, LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

struct Format {
  const char* name;
  std::string (*compress)(std::string_view);
};
const Format kFormats[] = {
    {"gzip", [](std::string_view text) { return gzip(text); }}, {"zstd", zstd}, {"xz", xz}};

// Compresses badly, so that members are longer than they are wide; the size spans several reads.
std::string sample(size_t size) {
  std::string text(size, '\0');
  RandomStream random(Key::from_seed(7));
  for (char& c : text) c = static_cast<char>('a' + random.below(20));
  return text;
}

// All that can be read, and the error at its end.
struct Outcome {
  std::string text;
  std::optional<Error> error;
};
Outcome read_all(ByteSource& source, size_t piece) {
  Outcome outcome;
  std::vector<uint8_t> buffer(piece);
  while (true) {
    auto n = source.read(buffer);
    if (!n) {
      outcome.error = n.error();
      return outcome;
    }
    if (*n == 0) return outcome;
    outcome.text.append(reinterpret_cast<const char*>(buffer.data()), *n);
  }
}
Outcome read_compressed(std::string_view data, size_t piece = 4096) {
  MemoryFileSystem fs;
  fs.put("corpus.bin", std::string(data));
  auto source = open_decompressed(fs, "corpus.bin");
  if (!source) return {"", source.error()};
  return read_all(**source, piece);
}

TEST(Compression, DetectsByMagic) {
  const auto detect = [](std::string_view text) {
    return detect_compression({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(detect(gzip("x")), Compression::kGzip);
  EXPECT_EQ(detect(zstd("x")), Compression::kZstd);
  EXPECT_EQ(detect(xz("x")), Compression::kXz);
  EXPECT_EQ(detect("x\x9ctext"), Compression::kNone);
  EXPECT_EQ(detect("\x1f"), Compression::kNone);
  EXPECT_EQ(detect(""), Compression::kNone);
}

TEST(Compression, PlainFilesAsTheyAre) {
  for (const std::string text : {"", "a", "plain text", "\x1f"}) {
    const Outcome outcome = read_compressed(text);
    EXPECT_FALSE(outcome.error);
    EXPECT_EQ(outcome.text, text);
  }
}

TEST(Compression, WholeConcatenatedAndEmpty) {
  const std::string text = sample(200000);
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    for (const size_t piece : {size_t{1} << 20, size_t{4096}, size_t{7}}) {
      const Outcome outcome = read_compressed(format.compress(text), piece);
      EXPECT_FALSE(outcome.error) << outcome.error->to_string();
      EXPECT_EQ(outcome.text, text);
    }
    const Outcome joined = read_compressed(format.compress("first ") + format.compress("") +
                                           format.compress(text) + format.compress(" last"));
    EXPECT_FALSE(joined.error) << joined.error->to_string();
    EXPECT_EQ(joined.text, "first " + text + " last");
    const Outcome empty = read_compressed(format.compress(""));
    EXPECT_FALSE(empty.error);
    EXPECT_EQ(empty.text, "");
  }
  const Outcome padded = read_compressed(gzip("text") + std::string(512, '\0'));
  EXPECT_FALSE(padded.error);
  EXPECT_EQ(padded.text, "text");
}

TEST(Compression, EveryCutIsAnErrorThatNamesTheFile) {
  const std::string text = sample(3000);
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    const std::string data = format.compress(text);
    for (size_t size = kCompressionMagicBytes; size < data.size(); size += 1 + size / 40) {
      const Outcome outcome = read_compressed(data.substr(0, size));
      ASSERT_TRUE(outcome.error) << "cut at " << size;
      EXPECT_EQ(outcome.error->code, Code::kDataLoss);
      EXPECT_NE(outcome.error->to_string().find("corpus.bin"), std::string::npos);
      EXPECT_NE(outcome.error->to_string().find(format.name), std::string::npos);
      EXPECT_TRUE(text.starts_with(outcome.text));
    }
    // What could be read comes first.
    EXPECT_GT(read_compressed(data.substr(0, data.size() - 1)).text.size(), 0u);
    EXPECT_TRUE(read_compressed(data + format.compress(text).substr(0, 40)).error);
  }
}

TEST(Compression, DamageAndTrailingGarbageAreErrors) {
  const std::string text = sample(3000);
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    const std::string data = format.compress(text);
    for (size_t i = 10; i < data.size(); i += 1 + i / 50) {
      std::string damaged = data;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      EXPECT_TRUE(read_compressed(damaged).error) << "byte " << i;
    }
    EXPECT_TRUE(read_compressed(data + "garbage").error);
  }
}

TEST(Compression, ZlibOnRequest) {
  const std::string text = sample(50000);
  MemoryFileSystem fs;
  fs.put("z", gzip(text, MAX_WBITS));
  auto source = decompress(*fs.open_read("z"), Compression::kZlib, "z");
  ASSERT_TRUE(source);
  const Outcome outcome = read_all(**source, 1000);
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(outcome.text, text);
}

TEST(Compression, ReadErrorsPassThrough) {
  MemoryFileSystem memory;
  memory.put("f", gzip(sample(500000)));
  for (int64_t nth = 1; nth <= 3; ++nth) {
    FaultFileSystem fs(memory);
    fs.fail_read_at(nth);
    auto source = open_decompressed(fs, "f");
    const auto error = source ? read_all(**source, 4096).error : std::optional(source.error());
    ASSERT_TRUE(error);
    EXPECT_NE(error->to_string().find("cannot read f"), std::string::npos);
  }
}

TEST(Compression, RandomBytesBehindAMagicNeverHang) {
  RandomStream random(Key::from_seed(11));
  for (int round = 0; round < 300; ++round) {
    std::string data = kFormats[round % 3].compress("seed").substr(0, 6);
    for (uint64_t i = random.below(200); i > 0; --i) data += static_cast<char>(random.below(256));
    (void)read_compressed(data, 64);
  }
}

}  // namespace
}  // namespace headwater
