// SHA-256 of files and texts, for manifests: which vocabulary and which inputs made this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headwater {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const uint8_t> data);
  void update(std::string_view data);
  std::string hex();  // 64 lower-case digits; the object is spent afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view data);

}  // namespace headwater
