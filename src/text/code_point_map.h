// A table over all code points: 256 entries a page, pages that hold one value shared. Reading costs
// two loads; the whole table of a tokenizer stays well under a megabyte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace headwater {

inline constexpr char32_t kCodePoints = 0x110000;  // U+0000 to U+10FFFF

template <class T>
class CodePointMap {
 public:
  explicit CodePointMap(T fill) { index_.fill(uniform_page(fill)); }

  T operator[](char32_t c) const { return pages_[(size_t{index_[c >> 8]} << 8) | (c & 0xFF)]; }

  void set(char32_t c, T value) {
    if ((*this)[c] == value) return;
    uint16_t& page = index_[c >> 8];
    if (is_shared(page)) page = copy_page(page);
    pages_[(size_t{page} << 8) | (c & 0xFF)] = value;
  }

  // Sets [first, last].
  void set_range(char32_t first, char32_t last, T value) {
    for (char32_t c = first; c <= last;) {
      if ((c & 0xFF) == 0 && c + 0xFF <= last) {
        index_[c >> 8] = uniform_page(value);
        c += 0x100;
      } else {
        set(c++, value);
      }
    }
  }

  // f(first, last, value) over runs of one value inside a page, in order.
  template <class F>
  void for_each_run(F f) const {
    for (char32_t first = 0; first < kCodePoints; first += 0x100) {
      if (is_shared(index_[first >> 8])) {
        f(first, first + 0xFF, (*this)[first]);
        continue;
      }
      for (char32_t c = first; c < first + 0x100; ++c) f(c, c, (*this)[c]);
    }
  }

 private:
  bool is_shared(uint16_t page) const { return shared_[page]; }
  uint16_t uniform_page(T value) {
    const auto [place, fresh] = uniform_.try_emplace(value, static_cast<uint16_t>(shared_.size()));
    if (fresh) {
      pages_.insert(pages_.end(), 0x100, value);
      shared_.push_back(true);
    }
    return place->second;
  }
  uint16_t copy_page(uint16_t page) {
    const size_t from = size_t{page} << 8;
    const size_t to = pages_.size();
    pages_.resize(to + 0x100);
    for (size_t i = 0; i < 0x100; ++i) pages_[to + i] = pages_[from + i];
    shared_.push_back(false);
    return static_cast<uint16_t>(shared_.size() - 1);
  }

  std::array<uint16_t, (kCodePoints >> 8)> index_{};
  std::vector<T> pages_;
  std::vector<bool> shared_;  // by page: holds one value, for any number of index entries
  std::map<T, uint16_t> uniform_;
};

}  // namespace headwater
