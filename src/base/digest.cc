#include "base/digest.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace headwater {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  HW_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const uint8_t> data) {
  HW_CHECK(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1);
}
void Sha256::update(std::string_view data) {
  HW_CHECK(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  HW_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &length) == 1);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(std::string_view data) {
  Sha256 sha;
  sha.update(data);
  return sha.hex();
}

}  // namespace headwater
