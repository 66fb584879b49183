#include "tokens/added_tokens.h"

#include <algorithm>

#include "text/utf8.h"
#include "text/white_space.h"

namespace headwater {
namespace {

// Where the white space begins that ends before `end`, not before `from`.
size_t space_before(std::string_view text, size_t from, size_t end) {
  while (end > from) {
    size_t last = end - 1;
    while (last > from && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
    size_t behind = last;
    if (!is_white_space(decode_utf8(text, behind))) break;
    end = last;
  }
  return end;
}

size_t space_behind(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    size_t behind = begin;
    if (!is_white_space(decode_utf8(text, behind))) break;
    begin = behind;
  }
  return begin;
}

}  // namespace

AddedTokens::AddedTokens(std::span<const AddedToken> tokens, bool specials) {
  for (const AddedToken& token : tokens) {
    if (token.special && !specials) continue;
    tokens_.push_back(token);
    starts_[static_cast<uint8_t>(token.text[0])] = true;
  }
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.text.size() > b.text.size();
  });
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text, size_t from) const {
  for (size_t i = from; i < text.size(); ++i) {
    if (!starts_[static_cast<uint8_t>(text[i])]) continue;
    for (const AddedToken& token : tokens_) {
      if (!text.substr(i).starts_with(token.text)) continue;
      const size_t end = i + token.text.size();
      return Found{token.id,
                   {token.lstrip ? space_before(text, from, i) : i,
                    token.rstrip ? space_behind(text, end) : end}};
    }
  }
  return std::nullopt;
}

}  // namespace headwater
