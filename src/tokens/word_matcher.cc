#include "tokens/word_matcher.h"

#include <algorithm>

#include "text/utf8.h"

namespace headwater {

Result<WordMatcher> WordMatcher::build(const Vocabulary& vocabulary,
                                       const BasicNormalizer& normalizer, int32_t unk,
                                       int64_t max_word_chars) {
  std::vector<PieceTrie::Piece> pieces;
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    std::string_view token = vocabulary.token(id);
    if (vocabulary.find(token) != static_cast<int32_t>(id)) continue;  // repeated further down
    const bool continuation = token.substr(0, 2) == "##";
    if (continuation) token.remove_prefix(2);
    // What no word can contain needs no states.
    if (token.empty() || count_code_points(token) > max_word_chars) continue;
    pieces.push_back({utf8_to_utf32(token), continuation, static_cast<int32_t>(id)});
  }
  WordMatcher matcher;
  HW_ASSIGN_OR_RETURN(matcher.trie_, PieceTrie::build(pieces));
  matcher.unk_ = unk;
  matcher.max_word_chars_ = max_word_chars;
  matcher.compile(vocabulary, normalizer);
  return matcher;
}

uint32_t WordMatcher::action_of(char32_t c, CharKind kind, const Vocabulary& vocabulary) const {
  if (kind == CharKind::kWord) {
    const uint32_t symbol = trie_.symbol(c);
    return symbol == 0 ? pack(Action::kForeign) : pack(Action::kSymbol, symbol);
  }
  std::string token;
  append_utf8(c, token);
  return pack(Action::kToken, static_cast<uint32_t>(vocabulary.find(token).value_or(unk_)));
}

void WordMatcher::compile(const Vocabulary& vocabulary, const BasicNormalizer& normalizer) {
  // Characters outside the alphabet first, in whole runs; then those that pieces hold.
  normalizer.for_each_run([&](char32_t first, char32_t last, BasicNormalizer::Entry entry) {
    switch (entry.kind) {
      case CharKind::kDropped: break;
      case CharKind::kSpace: actions_.set_range(first, last, pack(Action::kSpace)); break;
      case CharKind::kWord: actions_.set_range(first, last, pack(Action::kForeign)); break;
      case CharKind::kIsolated:
        actions_.set_range(first, last, pack(Action::kToken, static_cast<uint32_t>(unk_)));
        break;
      case CharKind::kMapped: {
        const auto mapped = normalizer.expansion(entry);
        if (mapped.size() == 1) {
          const uint32_t action = action_of(mapped[0].code_point, mapped[0].kind, vocabulary);
          actions_.set_range(first, last, action);
          break;
        }
        const uint32_t place = static_cast<uint32_t>(expansions_.size());
        expansions_.push_back(static_cast<uint32_t>(mapped.size()));
        for (const auto& m : mapped)
          expansions_.push_back(action_of(m.code_point, m.kind, vocabulary));
        actions_.set_range(first, last, pack(Action::kExpand, place));
        break;
      }
      case CharKind::kContextual: actions_.set_range(first, last, pack(Action::kContextual)); break;
    }
  });
  for (const char32_t c : trie_.alphabet()) {
    const CharKind kind = normalizer.entry(c).kind;
    if (kind == CharKind::kWord || kind == CharKind::kIsolated)
      actions_.set(c, action_of(c, kind, vocabulary));
  }
  for (char32_t c = 0; c < ascii_.size(); ++c) ascii_[c] = actions_[c];
}

// A pass over one text. Ids gather in a buffer that always has room for one more word, so that only
// the end of a word checks. Force-inlined members keep the state in registers.
class WordMatcher::Run {
 public:
  Run(const WordMatcher& matcher, std::vector<int32_t>& ids)
      : trie_(matcher.trie_),
        expansions_(matcher.expansions_.data()),
        unk_(matcher.unk_),
        max_chars_(matcher.max_word_chars_),
        ids_(ids) {}

  // False when the action needs the context.
  [[gnu::always_inline]] bool act(uint32_t packed) {
    if (kind_of(packed) == Action::kSymbol) [[likely]]
      return add_symbol(packed >> 3), true;
    if (kind_of(packed) == Action::kSpace) [[likely]]
      return end_word(), true;
    return act_rarely(packed);
  }

  [[gnu::always_inline]] void end_word() {
    if (chars_ == 0) return;
    if (!trie_.finish(state_, out_)) out_ = word_, *out_++ = unk_;
    begin_word();
  }

  void flush() {
    ids_.insert(ids_.end(), buffer_.data(), out_);
    out_ = word_ = buffer_.data();
  }

 private:
  static constexpr size_t kBuffer = 8192;
  static constexpr size_t kRoom = 4096 + 64;  // Tokenizer::kMaxWordChars and the longest expansion

  static Action kind_of(uint32_t packed) { return static_cast<Action>(packed & 7); }

  [[gnu::always_inline]] void add_symbol(uint32_t symbol) {
    ++chars_;
    if (state_ == PieceTrie::kStuck) return;
    state_ = trie_.step(state_, symbol, out_);
    if (chars_ > max_chars_) [[unlikely]]
      give_up();
  }

  bool act_rarely(uint32_t packed) {
    const uint32_t payload = packed >> 3;
    switch (kind_of(packed)) {
      case Action::kToken:
        end_word();
        *out_++ = static_cast<int32_t>(payload);
        begin_word();
        return true;
      case Action::kForeign: ++chars_, give_up(); return true;
      case Action::kExpand: {
        const uint32_t* action = expansions_ + payload;
        for (uint32_t left = *action++; left > 0; --left, ++action) {
          if (kind_of(*action) == Action::kSymbol) {
            add_symbol(*action >> 3);
          } else {
            act_rarely(*action);
          }
        }
        return true;
      }
      case Action::kDrop: return true;
      default: return false;
    }
  }

  void give_up() {
    state_ = PieceTrie::kStuck;
    out_ = word_;
  }

  [[gnu::always_inline]] void begin_word() {
    word_ = out_;
    state_ = PieceTrie::kWordStart;
    chars_ = 0;
    if (out_ > buffer_.data() + (kBuffer - kRoom)) [[unlikely]]
      flush();
  }

  const PieceTrie& trie_;
  const uint32_t* const expansions_;
  const int32_t unk_;
  const int64_t max_chars_;
  std::vector<int32_t>& ids_;
  std::array<int32_t, kBuffer> buffer_;  // not initialised
  int32_t* out_ = buffer_.data();
  int32_t* word_ = buffer_.data();  // where the present word's ids begin
  int32_t state_ = PieceTrie::kWordStart;
  int64_t chars_ = 0;  // characters of the present word
};

bool WordMatcher::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  Run run(*this, ids);
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    const uint32_t action = lead < 0x80 ? (++i, ascii_[lead]) : actions_[decode_utf8(text, i)];
    if (!run.act(action)) [[unlikely]] {
      ids.resize(before);
      return false;
    }
  }
  run.end_word();
  run.flush();
  return true;
}

int64_t WordMatcher::match_word(std::span<const NormalizedChar> word, int32_t* ids) const {
  int32_t* out = ids;
  int32_t state = PieceTrie::kWordStart;
  const auto unknown = [&] { return *ids = unk_, int64_t{1}; };
  if (static_cast<int64_t>(word.size()) > max_word_chars_) return unknown();
  for (const NormalizedChar& c : word) {
    const uint32_t symbol = trie_.symbol(c.code_point);
    if (symbol == 0) return unknown();
    state = trie_.step(state, symbol, out);
    if (state == PieceTrie::kStuck) return unknown();
  }
  if (!trie_.finish(state, out)) return unknown();
  return out - ids;
}

}  // namespace headwater
