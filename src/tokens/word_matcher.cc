#include "tokens/word_matcher.h"

#include <algorithm>

#include "text/utf8.h"

namespace headwater {

Result<WordMatcher> WordMatcher::build(const Vocabulary& vocabulary,
                                       const BasicNormalizer& normalizer, int32_t unk,
                                       int32_t max_word_chars) {
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
// the end of a word checks.
class WordMatcher::Run {
 public:
  // The word in progress.
  struct Word {
    int32_t* ids;  // where its ids begin in the buffer
    int32_t* out;  // and where they end
    int32_t state;
    int32_t chars;
  };

  Run(const WordMatcher& matcher, std::vector<int32_t>& ids) : matcher_(matcher), ids_(ids) {}

  Word begin() { return {buffer_.data(), buffer_.data(), PieceTrie::kWordStart, 0}; }

  [[gnu::always_inline]] void add_symbol(Word& word, uint32_t symbol) const {
    ++word.chars;
    if (word.state == PieceTrie::kStuck) return;
    word.state = matcher_.trie_.step(word.state, symbol, word.out);
    if (word.chars > matcher_.max_word_chars_) [[unlikely]]
      give_up(word);
  }

  // Finishes the word, if one has begun, and begins the next.
  [[gnu::always_inline]] void end_word(Word& word) {
    if (word.chars == 0) return;
    if (!matcher_.trie_.finish(word.state, word.out)) {
      word.out = word.ids;
      *word.out++ = matcher_.unk_;
    }
    next_word(word);
  }

  // Any action but kSymbol and kSpace. By value, so that the word of the caller stays in registers;
  // without ids when the action needs the context.
  [[gnu::noinline]] Word act_rarely(uint32_t packed, Word word) {
    const uint32_t payload = packed >> 3;
    switch (static_cast<Action>(packed & 7)) {
      case Action::kToken:
        end_word(word);
        *word.out++ = static_cast<int32_t>(payload);
        next_word(word);
        return word;
      case Action::kForeign:
        ++word.chars;
        give_up(word);
        return word;
      case Action::kExpand: {
        const uint32_t* action = matcher_.expansions_.data() + payload;
        for (uint32_t left = *action++; left > 0; --left, ++action) {
          if (static_cast<Action>(*action & 7) == Action::kSymbol) {
            add_symbol(word, *action >> 3);
          } else {
            word = act_rarely(*action, word);
          }
        }
        return word;
      }
      case Action::kDrop: return word;
      default: return {};
    }
  }

  void finish(Word word) {
    end_word(word);
    flush(word.out);
  }

 private:
  static constexpr size_t kBuffer = 8192;
  static constexpr size_t kRoom = 4096 + 64;  // Tokenizer::kMaxWordChars and the longest expansion

  static void give_up(Word& word) {
    word.state = PieceTrie::kStuck;
    word.out = word.ids;
  }

  [[gnu::always_inline]] void next_word(Word& word) {
    if (word.out > buffer_.data() + (kBuffer - kRoom)) [[unlikely]] {
      flush(word.out);
      word.out = buffer_.data();
    }
    word.ids = word.out;
    word.state = PieceTrie::kWordStart;
    word.chars = 0;
  }

  [[gnu::noinline]] void flush(const int32_t* end) {
    ids_.insert(ids_.end(), static_cast<const int32_t*>(buffer_.data()), end);
  }

  const WordMatcher& matcher_;
  std::vector<int32_t>& ids_;
  std::array<int32_t, kBuffer> buffer_;  // not initialised
};

// g++ packs the fields of a Word into vector registers, which costs more than it saves.
#ifndef __clang__
[[gnu::optimize("no-tree-slp-vectorize")]]
#endif
bool WordMatcher::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  Run run(*this, ids);
  Run::Word word = run.begin();
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    const uint32_t packed = lead < 0x80 ? (++i, ascii_[lead]) : actions_[decode_utf8(text, i)];
    const Action action = static_cast<Action>(packed & 7);
    if (action == Action::kSymbol) [[likely]] {
      run.add_symbol(word, packed >> 3);
    } else if (action == Action::kSpace) {
      run.end_word(word);
    } else {
      word = run.act_rarely(packed, word);
      if (word.ids == nullptr) [[unlikely]] {
        ids.resize(before);
        return false;
      }
    }
  }
  run.finish(word);
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
