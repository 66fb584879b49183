#include "fuzz_targets.h"

#include <cstdlib>
#include <map>
#include <string>

#include "base/crc32c.h"
#include "checkpoints/byte_cursor.h"
#include "checkpoints/pickle.h"
#include "checkpoints/snappy.h"
#include "checkpoints/tf_state.h"
#include "checkpoints/tf_table.h"
#include "checkpoints/weights_source.h"
#include "io/memory_files.h"
#include "tokens/any_tokenizer.h"

namespace headwater {
namespace {

constexpr int64_t kLargestRead = int64_t{16} << 20;  // what a fuzzer has time for

// Opens and reads all of it; what comes back must be what the entry promises.
void read_weights(FileSystem& fs, const std::string& path) {
  const auto source = open_weights(fs, path);
  if (!source) return;
  for (size_t i = 0; i < (*source)->entries().size(); ++i) {
    const WeightEntry& entry = (*source)->entries()[i];
    if (entry.bytes > kLargestRead) continue;
    const auto bytes = (*source)->read_bytes(i);
    if (bytes && static_cast<int64_t>(bytes->bytes().size()) != entry.bytes) std::abort();
  }
}

void fuzz_file(std::span<const uint8_t> input) {
  MemoryFileSystem fs;
  fs.put("m", std::string(as_text(input)));
  read_weights(fs, "m");
}

void fuzz_tf_index(std::span<const uint8_t> input) {
  MemoryFileSystem fs;
  fs.put("m.index", std::string(as_text(input)));
  fs.put("m.data-00000-of-00001", std::string(512, '\0'));
  read_weights(fs, "m");
}

// The input is a list of length, key, length, value; lengths of one byte.
void fuzz_tf_entries(std::span<const uint8_t> input) {
  std::map<std::string, std::string> pairs;
  for (ByteCursor in(input); !in.at_end();) {
    const auto key = in.take(*in.number<uint8_t>());
    const auto size = key ? in.number<uint8_t>() : std::nullopt;
    const auto value = size ? in.take(*size) : std::nullopt;
    if (!value) break;
    pairs.emplace(as_text(*key), as_text(*value));
  }
  SortedTableBuilder table;
  for (const auto& [key, value] : pairs) table.add(key, value);
  fuzz_tf_index(as_bytes(std::move(table).finish()));
}

// The input is a block, plain or compressed, behind an index and checksums that are right.
void fuzz_tf_block(std::span<const uint8_t> input) {
  if (input.empty() || input.size() > 100000) return;
  std::string file;
  const auto put_block = [&](std::string block, char compression) {
    block += compression;
    const uint32_t crc = mask_crc(crc32c(block));
    file += block;
    file.append(reinterpret_cast<const char*>(&crc), 4);
  };
  const auto varint = [](uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out + static_cast<char>(value);
  };
  const std::string content(as_text(input.subspan(1)));
  put_block(content, static_cast<char>(input[0] & 1));
  const std::string handle = varint(0) + varint(content.size());
  std::string index = varint(0) + varint(1) + varint(handle.size()) + "z" + handle;
  index += std::string("\0\0\0\0\1\0\0\0", 8);
  const size_t index_at = file.size(), index_size = index.size();
  put_block(index, 0);
  std::string footer = varint(0) + varint(0) + varint(index_at) + varint(index_size);
  footer.resize(40, '\0');
  file += footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  fuzz_tf_index(as_bytes(file));
}

void fuzz_tf_state(std::span<const uint8_t> input) { (void)parse_tf_state(as_text(input), "m"); }

void fuzz_pickle(std::span<const uint8_t> input) {
  for (ByteCursor in(input); !in.at_end();) {
    if (!read_pickle(in)) break;
  }
}

void fuzz_snappy(std::span<const uint8_t> input) { (void)snappy_decompress(input); }

void fuzz_shards(std::span<const uint8_t> input) {
  MemoryFileSystem fs;
  fs.put("m.json", std::string(as_text(input)));
  fs.put("model-00001-of-00002.safetensors",
         std::string("\x3c\0\0\0\0\0\0\0", 8) +
             R"({"param":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  )" + "abcd");
  read_weights(fs, "m.json");
}

// A tokenizer.json, or a vocab.json beside good merges: what can be read must decode what it
// encodes.
void fuzz_tokenizer(std::span<const uint8_t> input) {
  MemoryFileSystem fs;
  fs.put("vocab.json", std::string(as_text(input)));
  fs.put("merges.txt", "h e\n");
  const auto tokenizer = AnyTokenizer::open(fs, "vocab.json");
  if (!tokenizer) return;
  const std::string text = "he said: \xEC\x95\x88\xEB\x85\x95 42";
  std::vector<int32_t> ids;
  tokenizer->append_ids(text, ids);
  const auto decoded = tokenizer->decode(ids);
  if (!decoded) std::abort();
}

}  // namespace

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = {
      {"safetensors", fuzz_file, {"safetensors", "torch/model.safetensors"}},
      {"torch",
       fuzz_file,
       {"torch/pytorch_model.bin", "torch/plain_dict.bin", "torch/training_ckpt.bin",
        "torch/handmade_minimal.bin"}},
      {"old_torch", fuzz_file, {"torch/legacy_model.bin"}},
      {"keras", fuzz_file, {"keras_h5/tf_model.h5"}},
      {"tf_index",
       fuzz_tf_index,
       {"tf_checkpoint/dtypes.ckpt.index", "tf_checkpoint/sliced.ckpt.index",
        "tf_checkpoint/manykeys_snappy.ckpt.index", "tf_checkpoint/bad"}},
      {"tf_entries", fuzz_tf_entries, {}},
      {"tf_block", fuzz_tf_block, {}},
      {"tf_state", fuzz_tf_state, {"tf_checkpoint/tf1/checkpoint", "tf_checkpoint/moved"}},
      {"pickle", fuzz_pickle, {"torch/legacy_model.bin"}},
      {"snappy", fuzz_snappy, {}},
      {"shards", fuzz_shards, {"torch/sharded/model.safetensors.index.json"}},
      {"tokenizer", fuzz_tokenizer, {"bpe/tokenizer.json", "hf_tokenizer/tokenizer.json"}},
  };
  return targets;
}

}  // namespace headwater
