#include "tokens/any_tokenizer.h"

namespace headwater {
namespace {

constexpr std::string_view kContinuation = "##";

}  // namespace

Result<AnyTokenizer> AnyTokenizer::create(const TokenizerFiles& files,
                                          const TokenizerOptions& options) {
  if (const BpeModel* model = std::get_if<BpeModel>(&files.vocabulary)) {
    HW_ASSIGN_OR_RETURN(BpeTokenizer tokenizer, BpeTokenizer::create(*model, options));
    return AnyTokenizer(std::move(tokenizer));
  }
  HW_ASSIGN_OR_RETURN(Tokenizer tokenizer,
                      Tokenizer::create(std::get<Vocabulary>(files.vocabulary), options));
  return AnyTokenizer(std::move(tokenizer));
}

Result<AnyTokenizer> AnyTokenizer::open(FileSystem& fs, const std::string& path,
                                        const TokenizerOptions& options) {
  HW_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(fs, path));
  HW_ASSIGN_OR_RETURN(const TokenizerOptions all, options_for(files, options));
  return create(files, all);
}

Result<std::string> AnyTokenizer::decode(std::span<const int32_t> ids) const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->decode(ids);
  std::string text;
  for (const int32_t id : ids) {
    if (id < 0 || id >= size()) {
      return fail_hint(Code::kInvalidArgument, "is this the vocabulary the ids were made with?",
                       "id {} is no token of {}, which has {}", id, name(), size());
    }
    const std::string piece = token(id);
    const bool glued = piece.starts_with(kContinuation) && piece.size() > kContinuation.size();
    if (!glued && !text.empty()) text.push_back(' ');
    text += glued ? std::string_view(piece).substr(kContinuation.size()) : std::string_view(piece);
  }
  return text;
}

int64_t AnyTokenizer::size() const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->model().size();
  return word_pieces()->vocabulary().size();
}

std::string AnyTokenizer::token(int64_t id) const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->model().text(id);
  return word_pieces()->vocabulary().token(id);
}

bool AnyTokenizer::starts_word(int64_t id) const {
  if (const BpeTokenizer* bpe = byte_pairs()) {
    const std::string& bytes = bpe->model().bytes(id);
    return bpe->model().is_added(id) ||
           (!bytes.empty() && (bytes[0] == ' ' || (bytes[0] >= '\t' && bytes[0] <= '\r')));
  }
  return !token(id).starts_with(kContinuation);
}

std::optional<int32_t> AnyTokenizer::end_of_text() const {
  const BpeTokenizer* bpe = byte_pairs();
  return bpe != nullptr ? bpe->end_of_text() : std::nullopt;
}

std::optional<int32_t> AnyTokenizer::find(std::string_view token) const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->model().find(token);
  return word_pieces()->vocabulary().find(token);
}

Result<SpecialIds> AnyTokenizer::special_ids() const {
  if (word_pieces() != nullptr) return word_pieces()->vocabulary().special_ids();
  SpecialIds ids;
  std::vector<std::string_view> missing;
  const auto look_up = [&](std::string_view token, int32_t& id) {
    if (const auto found = find(token)) id = *found;
    else missing.push_back(token);
  };
  look_up("<pad>", ids.pad);
  look_up("<unk>", ids.unk);
  look_up("<s>", ids.cls);
  look_up("</s>", ids.sep);
  look_up("<mask>", ids.mask);
  if (missing.empty()) return ids;
  return fail_hint(Code::kInvalidArgument, "is it the tokenizer of a masked language model?",
                   "vocabulary {} ({} tokens) lacks {}", name(), size(), fmt::join(missing, ", "));
}

const std::string& AnyTokenizer::name() const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->model().name();
  return word_pieces()->vocabulary().name();
}

const std::string& AnyTokenizer::digest() const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->model().digest();
  return word_pieces()->vocabulary().digest();
}

const TokenizerOptions& AnyTokenizer::options() const {
  if (const BpeTokenizer* bpe = byte_pairs()) return bpe->options();
  return word_pieces()->options();
}

}  // namespace headwater
