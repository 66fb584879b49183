// Decompressing byte sources: gzip, zlib, zstd and xz, streaming, in bounded memory.
//
// Detection looks at magic bytes. A zlib stream has none worth the name (two bytes, the first of
// which is 'x'), so it is never guessed here; the record reader asks for it where its own checks
// say so.
#pragma once

#include "io/file.h"

namespace headwater {

enum class Compression { kNone, kGzip, kZlib, kZstd, kXz };

inline constexpr size_t kCompressionMagicBytes = 6;

// From the first bytes of a file: gzip, zstd, xz, or none.
Compression detect_compression(std::span<const uint8_t> start);
std::string_view compression_name(Compression compression);

// Bytes that were read already, then the rest of their source.
std::unique_ptr<ByteSource> prepend(std::vector<uint8_t> start, std::unique_ptr<ByteSource> rest);

// Concatenated gzip members, zstd frames and xz streams read as one. `name` is the file in
// messages. kNone returns `source` itself.
Result<std::unique_ptr<ByteSource>> decompress(std::unique_ptr<ByteSource> source,
                                               Compression compression, std::string name);

// Reads until `out` is full or the source ends; returns the number of bytes.
Result<size_t> read_full(ByteSource& source, std::span<uint8_t> out);

}  // namespace headwater
