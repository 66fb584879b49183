#include "tokens/tokenizer.h"

#include <unordered_map>

#include "text/basic_normalizer.h"
#include "text/utf8.h"

namespace headwater {

struct Tokenizer::Tables {
  Tables(Vocabulary v, TokenizerOptions o, NormalizerOptions n, int32_t unknown)
      : vocabulary(std::move(v)), options(std::move(o)), normalizer(n), unk(unknown) {}
  Vocabulary vocabulary;
  TokenizerOptions options;
  BasicNormalizer normalizer;
  int32_t unk;

  void match(const NormalizedChar* begin, const NormalizedChar* end, std::vector<Token>& out) const;
};

Result<Tokenizer> Tokenizer::create(Vocabulary vocabulary, TokenizerOptions options) {
  const auto unk = vocabulary.find("[UNK]");
  if (!unk) {
    return fail_hint(Code::kInvalidArgument, "every WordPiece vocabulary needs the line [UNK]",
                     "vocabulary {} ({} tokens) lacks [UNK]", vocabulary.name(), vocabulary.size());
  }
  const bool hf = options.compatibility == "hf";
  if (options.max_word_chars == 0) options.max_word_chars = hf ? 100 : 200;
  if (!options.strip_accents) options.strip_accents = options.do_lower_case;
  const NormalizerOptions normalizer{options.do_lower_case, *options.strip_accents,
                                     hf ? Dialect::kHuggingFace : Dialect::kElectra};
  return Tokenizer(
      std::make_shared<const Tables>(std::move(vocabulary), std::move(options), normalizer, *unk));
}

void Tokenizer::Tables::match(const NormalizedChar* begin, const NormalizedChar* end,
                              std::vector<Token>& out) const {
  const size_t first = out.size();
  const auto give_up = [&] {
    out.resize(first);
    out.push_back({unk, begin->begin, (end - 1)->end});
  };
  if (end - begin > options.max_word_chars) return give_up();
  for (const NormalizedChar* piece = begin; piece != end;) {
    const NormalizedChar* stop = end;
    for (; stop != piece; --stop) {
      std::string text = piece == begin ? "" : "##";
      for (const NormalizedChar* c = piece; c != stop; ++c) append_utf8(c->code_point, text);
      if (const auto id = vocabulary.find(text)) {
        out.push_back({*id, piece->begin, (stop - 1)->end});
        break;
      }
    }
    if (stop == piece) return give_up();
    piece = stop;
  }
}

std::vector<Token> Tokenizer::tokenize(std::string_view text) const {
  std::vector<Token> tokens;
  std::vector<NormalizedChar> chars;
  tables_->normalizer.normalize(text, chars);
  const NormalizedChar* const end = chars.data() + chars.size();
  for (const NormalizedChar* c = chars.data(); c != end;) {
    const NormalizedChar* word = c++;
    if (word->kind == CharKind::kSpace) continue;
    if (word->kind == CharKind::kWord)
      while (c != end && c->kind == CharKind::kWord) ++c;
    tables_->match(word, c, tokens);
  }
  return tokens;
}

void Tokenizer::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  for (const Token& token : tokenize(text)) ids.push_back(token.id);
}

const Vocabulary& Tokenizer::vocabulary() const { return tables_->vocabulary; }
const TokenizerOptions& Tokenizer::options() const { return tables_->options; }
int32_t Tokenizer::unk_id() const { return tables_->unk; }

}  // namespace headwater
