// Sorted tables (LevelDB's file format), in which TensorFlow keeps the index of a checkpoint
// (docs/formats/tensorflow-checkpoint.md). Only whole passes and whole builds: an index is small.
//
// Own code instead of libleveldb: that allocates whatever length a damaged file names, and aborts
// where this says which block is broken. Its tables and ours are byte for byte the same.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace headwater {

// The magic number at the end says so.
bool is_sorted_table(std::span<const uint8_t> file);

// Calls `visit` with every key and value, by rising key. Checksums of all blocks are checked.
// Errors name the byte where the damage is.
using TableVisitor = std::function<Result<>(std::string_view key, std::string_view value)>;
Result<> read_sorted_table(std::span<const uint8_t> file, const TableVisitor& visit);

// Builds a table as TensorFlow does: no compression, blocks of 256 KiB, a restart every 16 keys.
class SortedTableBuilder {
 public:
  // Keys rise from call to call.
  void add(std::string_view key, std::string_view value);
  std::string finish() &&;

 private:
  // Entries that share prefixes with their predecessors, and the places where none does.
  struct Block {
    std::string bytes, last_key;
    std::vector<uint32_t> restarts = {0};
    int64_t since_restart = 0;

    void add(std::string_view key, std::string_view value, int64_t restart_interval);
    size_t size() const { return bytes.size() + 4 * restarts.size() + 4; }
  };
  struct Handle {
    uint64_t offset = 0, size = 0;
    std::string encoded() const;
  };

  Handle write_block(Block& block);
  void end_data_block(const std::string& separator);

  std::string file_;
  Block data_, index_;
};

}  // namespace headwater
