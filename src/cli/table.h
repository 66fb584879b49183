// Plain tables on a terminal: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headwater {

class TextTable {
 public:
  // One letter per column: 'l' left, 'r' right. The last column is not padded.
  explicit TextTable(std::string alignment) : alignment_(std::move(alignment)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Lines that begin with `indent`; two spaces between columns.
  std::string text(std::string_view indent = "") const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

std::string grouped(int64_t value);    // 1234567 -> "1,234,567"
std::string byte_text(int64_t bytes);  // "17.9 MB"; exact below 1,000

}  // namespace headwater
