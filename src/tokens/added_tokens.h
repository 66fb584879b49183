// Finds added tokens in a text, before the rest is tokenised: the leftmost first, of those that
// begin at one place the longest, as Hugging Face's tokenizers do.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "text/offset_map.h"
#include "tokens/bpe_model.h"

namespace headwater {

class AddedTokens {
 public:
  // With `specials` the control tokens are found too, otherwise they are plain text.
  AddedTokens(std::span<const AddedToken> tokens, bool specials);

  bool empty() const { return tokens_.empty(); }

  // Calls token(id, range) for the tokens in the text and part(view, offset) for what is between
  // them and not empty, in order.
  template <class Part, class Token>
  void split(std::string_view text, Part part, Token token) const {
    size_t done = 0;
    while (const auto found = empty() ? std::nullopt : find(text, done)) {
      if (found->range.begin > done) part(text.substr(done, found->range.begin - done), done);
      token(found->id, found->range);
      done = found->range.end;
    }
    if (done < text.size()) part(text.substr(done), done);
  }

 private:
  struct Found {
    int32_t id;
    ByteRange range;
  };
  std::optional<Found> find(std::string_view text, size_t from) const;

  std::vector<AddedToken> tokens_;  // the longest first
  std::array<bool, 256> starts_{};  // bytes that a token begins with
};

}  // namespace headwater
