#include "tokens/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/basic_normalizer.h"
#include "text/emoji.h"
#include "text/utf8.h"
#include "tokens/text_rewriter.h"
#include "tokens/word_matcher.h"

namespace headwater {
namespace {

constexpr std::array<std::string_view, 5> kSpecials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                       "[MASK]"};

// The first special token written out in the text, and the token.
struct Found {
  ByteRange range;
  std::string_view token;
};
std::optional<Found> find_special(std::string_view text, size_t from) {
  for (size_t i = text.find('[', from); i < text.size(); i = text.find('[', i + 1)) {
    for (const std::string_view special : kSpecials)
      if (text.substr(i, special.size()) == special) return Found{{i, i + special.size()}, special};
  }
  return std::nullopt;
}

// Marks that changed places keep their own bytes: the ends are not always first and last.
template <class Iterator>
Token cover(int32_t id, Iterator first, Iterator last) {
  Token token{id, first->begin, first->end};
  for (; first != last; ++first) {
    token.begin = std::min(token.begin, first->begin);
    token.end = std::max(token.end, first->end);
  }
  return token;
}

}  // namespace

void TokenizerOptions::describe_normalizer(Fields& f) {
  f("do_lower_case", do_lower_case, "lower-case the text, and strip accents unless told otherwise")
      .negation("no_lower_case");
  f("strip_accents", strip_accents,
    "decompose and drop accents (also takes Hangul syllables apart); auto: as lower-casing")
      .alias("do_strip_accents");
  f("compatibility", compatibility,
    "whose rules: the ELECTRA authors', or Hugging Face's (100 characters a word, unassigned code "
    "points stay)")
      .one_of({"electra", "hf"});
  f("normalize", normalize, "Unicode normal form made first; nfkc keeps Korean compatibility jamo")
      .one_of({"none", "nfc", "nfkc"});
  f("max_jamo_run", max_jamo_run, "cut longer runs of one jamo, as in laughter; 0: keep all")
      .non_negative();
}

void TokenizerOptions::describe(Fields& f) {
  describe_normalizer(f);
  f("max_word_chars", max_word_chars,
    "words of more characters become [UNK]; 0: 200, or 100 with --compatibility hf")
      .alias("max_input_chars_per_word")
      .range(0, static_cast<double>(Tokenizer::kMaxWordChars));
  f("parse_specials", parse_specials,
    "\"[MASK]\" and the like in the text become special tokens, not plain text");
  f("isolate_emoji", isolate_emoji, "an emoji sequence is one token, also when glued to a word");
}

void TokenizerOptions::describe_all(Fields& f) {
  describe(f);
  f("add_prefix_space", add_prefix_space,
    "byte-level BPE: a blank before a text that has none, so that its first word is like others");
}

Result<NormalizerOptions> TokenizerOptions::normalizer_options() const {
  const bool hf = compatibility == "hf";
  if (!hf && compatibility != "electra") {
    return fail(Code::kInvalidArgument, "compatibility must be electra or hf, got '{}'",
                compatibility);
  }
  return NormalizerOptions{do_lower_case, strip_accents.value_or(do_lower_case),
                           hf ? Dialect::kHuggingFace : Dialect::kElectra};
}

Result<NormalForm> TokenizerOptions::normal_form() const {
  if (normalize == "none") return NormalForm::kNone;
  if (normalize == "nfc") return NormalForm::kNfc;
  if (normalize == "nfkc") return NormalForm::kNfkc;
  return fail(Code::kInvalidArgument, "normalize must be none, nfc or nfkc, got '{}'", normalize);
}

struct Tokenizer::Tables {
  Vocabulary vocabulary;
  TokenizerOptions options;
  BasicNormalizer normalizer;
  WordMatcher matcher;
  TextRewriter rewriter;
  int32_t unk;

  bool is_plain() const {
    return rewriter.does_nothing() && !options.parse_specials && !options.isolate_emoji;
  }
  int32_t emoji_id(std::string_view emoji) const;
  // Calls special(id, range) for specials written in the text and part(view, offset) between them.
  template <class Part, class Special>
  void split_specials(std::string_view text, Part part, Special special) const;
  // Calls emoji(id, range) for emoji and part(view, offset) between them.
  template <class Part, class Emoji>
  void split_emoji(std::string_view text, Part part, Emoji emoji) const;

  void append_ids(std::string_view text, std::vector<int32_t>& ids) const;
  void tokenize(std::string_view text, std::vector<Token>& tokens) const;
};

Result<Tokenizer> Tokenizer::create(Vocabulary vocabulary, TokenizerOptions options) {
  const auto unk = vocabulary.find("[UNK]");
  if (!unk) {
    return fail_hint(Code::kInvalidArgument, "every WordPiece vocabulary needs the line [UNK]",
                     "vocabulary {} ({} tokens) lacks [UNK]", vocabulary.name(), vocabulary.size());
  }
  HW_ASSIGN_OR_RETURN(const NormalizerOptions rules, options.normalizer_options());
  HW_ASSIGN_OR_RETURN(const NormalForm form, options.normal_form());
  options.strip_accents = rules.strip_accents;
  if (options.max_word_chars == 0)
    options.max_word_chars = rules.dialect == Dialect::kHuggingFace ? 100 : 200;
  if (options.max_word_chars < 1 || options.max_word_chars > kMaxWordChars) {
    return fail(Code::kInvalidArgument, "max_word_chars must be 1 to {}, got {}", kMaxWordChars,
                options.max_word_chars);
  }
  if (options.max_jamo_run < 0) {
    return fail(Code::kInvalidArgument, "max_jamo_run must not be negative, got {}",
                options.max_jamo_run);
  }
  if (options.add_prefix_space) {
    return fail_hint(Code::kInvalidArgument, "leave it away",
                     "add_prefix_space is an option of byte-level BPE, and {} is a WordPiece "
                     "vocabulary",
                     vocabulary.name());
  }
  const TextRewriter rewriter{form, options.max_jamo_run};
  BasicNormalizer normalizer(rules);
  HW_ASSIGN_OR_RETURN(WordMatcher matcher,
                      WordMatcher::build(vocabulary, normalizer, *unk,
                                         static_cast<int32_t>(options.max_word_chars)));
  return Tokenizer(std::make_shared<const Tables>(Tables{std::move(vocabulary), std::move(options),
                                                         std::move(normalizer), std::move(matcher),
                                                         rewriter, *unk}));
}

// One token for the whole sequence: as written, or cleaned as any word is, or without the choice
// between text and emoji style; else [UNK].
int32_t Tokenizer::Tables::emoji_id(std::string_view emoji) const {
  if (const auto id = vocabulary.find(emoji)) return *id;
  std::vector<NormalizedChar> chars;
  normalizer.normalize(emoji, chars);
  std::string cleaned, bare;
  for (const NormalizedChar& c : chars) {
    append_utf8(c.code_point, cleaned);
    if (c.code_point != 0xFE0E && c.code_point != 0xFE0F) append_utf8(c.code_point, bare);
  }
  if (const auto id = vocabulary.find(cleaned)) return *id;
  return vocabulary.find(bare).value_or(unk);
}

template <class Part, class Special>
void Tokenizer::Tables::split_specials(std::string_view text, Part part, Special special) const {
  size_t done = 0;
  if (options.parse_specials) {
    size_t from = 0;
    while (const auto found = find_special(text, from)) {
      from = found->range.end;
      const auto id = vocabulary.find(found->token);
      if (!id) continue;
      part(text.substr(done, found->range.begin - done), done);
      special(*id, found->range);
      done = found->range.end;
    }
  }
  part(text.substr(done), done);
}

template <class Part, class Emoji>
void Tokenizer::Tables::split_emoji(std::string_view text, Part part, Emoji emoji) const {
  size_t done = 0;
  if (options.isolate_emoji) {
    while (const auto found = find_emoji(text, done)) {
      part(text.substr(done, found->begin - done), done);
      emoji(emoji_id(text.substr(found->begin, found->end - found->begin)), *found);
      done = found->end;
    }
  }
  part(text.substr(done), done);
}

void Tokenizer::Tables::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  if (matcher.append_ids(text, ids)) return;
  std::vector<Token> tokens;
  tokenize(text, tokens);
  for (const Token& token : tokens) ids.push_back(token.id);
}

void Tokenizer::Tables::tokenize(std::string_view text, std::vector<Token>& tokens) const {
  std::vector<NormalizedChar> chars;
  normalizer.normalize(text, chars);
  std::vector<int32_t> ids;
  const auto end = chars.cend();
  for (auto c = chars.cbegin(); c != end;) {
    const auto word = c++;
    if (word->kind == CharKind::kSpace) continue;
    if (word->kind == CharKind::kWord)
      c = std::find_if(c, end, [](const auto& x) { return x.kind != CharKind::kWord; });
    ids.resize(static_cast<size_t>(c - word));
    ids.resize(static_cast<size_t>(matcher.match_word({word, c}, ids.data())));
    auto piece = word;
    for (const int32_t id : ids) {
      const int64_t length = count_code_points(vocabulary.token(id)) - (piece == word ? 0 : 2);
      const auto next = ids.size() == 1 ? c : piece + length;
      tokens.push_back(cover(id, piece, next));
      piece = next;
    }
  }
}

void Tokenizer::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  const Tables& t = *tables_;
  if (t.is_plain()) return t.append_ids(text, ids);
  const auto single = [&](int32_t id, ByteRange) { ids.push_back(id); };
  const auto plain = [&](std::string_view part, size_t) { t.append_ids(part, ids); };
  t.split_specials(
      text,
      [&](std::string_view part, size_t) {
        if (t.rewriter.keeps(part)) return t.split_emoji(part, plain, single);
        t.split_emoji(t.rewriter.rewrite(part).text, plain, single);
      },
      single);
}

std::vector<Token> Tokenizer::tokenize(std::string_view text) const {
  const Tables& t = *tables_;
  std::vector<Token> tokens;
  if (t.is_plain()) return t.tokenize(text, tokens), tokens;
  t.split_specials(
      text,
      [&](std::string_view part, size_t offset) {
        const RewrittenText rewritten = t.rewriter.rewrite(part);
        const size_t first = tokens.size();
        t.split_emoji(
            rewritten.text,
            [&](std::string_view plain, size_t begin) {
              const size_t before = tokens.size();
              t.tokenize(plain, tokens);
              for (size_t i = before; i < tokens.size(); ++i)
                tokens[i].begin += begin, tokens[i].end += begin;
            },
            [&](int32_t id, ByteRange range) {
              tokens.push_back({id, range.begin, range.end});
            });
        for (size_t i = first; i < tokens.size(); ++i) {
          const ByteRange range = rewritten.original({tokens[i].begin, tokens[i].end});
          tokens[i].begin = offset + range.begin, tokens[i].end = offset + range.end;
        }
      },
      [&](int32_t id, ByteRange range) {
        tokens.push_back({id, range.begin, range.end});
      });
  return tokens;
}

const Vocabulary& Tokenizer::vocabulary() const { return tables_->vocabulary; }
const TokenizerOptions& Tokenizer::options() const { return tables_->options; }
int32_t Tokenizer::unk_id() const { return tables_->unk; }

}  // namespace headwater
