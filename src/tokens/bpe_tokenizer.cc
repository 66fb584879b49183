#include "tokens/bpe_tokenizer.h"

#include <algorithm>

#include "text/gpt2_splitter.h"
#include "tokens/added_tokens.h"
#include "tokens/bpe_merger.h"
#include "tokens/text_rewriter.h"

namespace headwater {
namespace {

// Options that are about what only WordPiece does.
Result<> check_options(const TokenizerOptions& options, const std::string& model) {
  const char* wrong = nullptr;
  if (options.do_lower_case) wrong = "do_lower_case";
  if (options.strip_accents.value_or(false)) wrong = "strip_accents";
  if (options.max_word_chars != 0) wrong = "max_word_chars";
  if (options.isolate_emoji) wrong = "isolate_emoji";
  if (wrong == nullptr) return {};
  return fail_hint(Code::kInvalidArgument, "leave it away",
                   "{} is an option of WordPiece, and {} is a byte-level BPE vocabulary", wrong,
                   model);
}

}  // namespace

struct BpeTokenizer::Tables {
  BpeModel model;
  TokenizerOptions options;
  TextRewriter rewriter;
  AddedTokens added;
  BpeMerger merger;
  Gpt2Splitter splitter{};
  std::optional<int32_t> end_of_text{};

  // Without options, and no added tokens in it.
  void append_ids(std::string_view text, std::vector<int32_t>& ids) const {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = splitter.word_end(text, begin);
      merger.append_ids(text.substr(begin, end - begin), ids);
      begin = end;
    }
  }

  bool needs_blank(std::string_view part) const {
    return options.add_prefix_space && !part.empty() && part.front() != ' ';
  }

  void append_part(std::string_view part, std::vector<int32_t>& ids) const {
    if (!rewriter.does_nothing() && !rewriter.keeps(part))
      return append_with_blank(rewriter.rewrite(part).text, ids);
    append_with_blank(part, ids);
  }
  void append_with_blank(std::string_view part, std::vector<int32_t>& ids) const {
    if (needs_blank(part)) return append_ids(" " + std::string(part), ids);
    append_ids(part, ids);
  }

  // Tokens of a part that begins at `offset` of the text.
  void tokenize_part(std::string_view part, size_t offset, std::vector<Token>& tokens) const {
    const bool keeps = rewriter.does_nothing() || rewriter.keeps(part);
    const RewrittenText rewritten = keeps ? RewrittenText() : rewriter.rewrite(part);
    const std::string_view text = keeps ? part : rewritten.text;
    std::vector<int32_t> ids;
    append_with_blank(text, ids);
    const size_t blank = needs_blank(text) ? 1 : 0;  // bytes that are not in the text
    tokens.reserve(tokens.size() + ids.size());
    size_t begin = 0;
    for (const int32_t id : ids) {
      const size_t end = begin + model.bytes(id).size();
      const ByteRange range =
          rewritten.original({begin - std::min(begin, blank), end - std::min(end, blank)});
      tokens.push_back({id, offset + range.begin, offset + range.end});
      begin = end;
    }
  }
};

Result<BpeTokenizer> BpeTokenizer::create(BpeModel model, TokenizerOptions options) {
  HW_RETURN_IF_ERROR(check_options(options, model.name()));
  HW_ASSIGN_OR_RETURN(const NormalForm form, options.normal_form());
  if (options.max_jamo_run < 0) {
    return fail(Code::kInvalidArgument, "max_jamo_run must not be negative, got {}",
                options.max_jamo_run);
  }
  AddedTokens added(model.added(), options.parse_specials);
  BpeMerger merger(model);
  const int64_t max_jamo_run = options.max_jamo_run;
  auto tables = std::make_shared<Tables>(Tables{.model = std::move(model),
                                                .options = std::move(options),
                                                .rewriter = {form, max_jamo_run},
                                                .added = std::move(added),
                                                .merger = std::move(merger)});
  for (const AddedToken& token : tables->model.added())
    if (token.text == BpeModel::kEndOfText) tables->end_of_text = token.id;
  return BpeTokenizer(std::move(tables));
}

void BpeTokenizer::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  const Tables& t = *tables_;
  t.added.split(
      text, [&](std::string_view part, size_t) { t.append_part(part, ids); },
      [&](int32_t id, ByteRange) { ids.push_back(id); });
}

std::vector<Token> BpeTokenizer::tokenize(std::string_view text) const {
  const Tables& t = *tables_;
  std::vector<Token> tokens;
  t.added.split(
      text, [&](std::string_view part, size_t offset) { t.tokenize_part(part, offset, tokens); },
      [&](int32_t id, ByteRange range) {
        tokens.push_back({id, range.begin, range.end});
      });
  return tokens;
}

Result<std::string> BpeTokenizer::decode(std::span<const int32_t> ids) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (id < 0 || id >= model().size()) {
      return fail_hint(Code::kInvalidArgument, "is this the vocabulary the ids were made with?",
                       "id {} is no token of {}, which has {}", id, model().name(), model().size());
    }
    bytes += model().bytes(id);
  }
  return bytes;
}

const BpeModel& BpeTokenizer::model() const { return tables_->model; }
const TokenizerOptions& BpeTokenizer::options() const { return tables_->options; }
std::optional<int32_t> BpeTokenizer::end_of_text() const { return tables_->end_of_text; }

}  // namespace headwater
