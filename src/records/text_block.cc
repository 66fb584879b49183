#include "records/text_block.h"

#include "records/long_lines.h"

namespace headwater {

Result<BlockTokenizer> BlockTokenizer::create(AnyTokenizer tokenizer, int64_t max_seq_length,
                                              bool split_long_lines) {
  BlockTokenizer block{.tokenizer = std::move(tokenizer),
                       .max_seq_length = max_seq_length,
                       .split_long_lines = split_long_lines};
  const BpeTokenizer* bpe = block.tokenizer.byte_pairs();
  if (bpe != nullptr && bpe->options().add_prefix_space) {
    TokenizerOptions plain = bpe->options();
    plain.add_prefix_space = false;
    HW_ASSIGN_OR_RETURN(BpeTokenizer continuing, BpeTokenizer::create(bpe->model(), plain));
    block.continuing.emplace(std::move(continuing));
  }
  for (int64_t id = 0; split_long_lines && id < block.tokenizer.size(); ++id)
    block.continues_word.push_back(!block.tokenizer.starts_word(id));
  return block;
}

void TextBlock::start(int64_t file_number, bool continues) {
  file_number_ = file_number;
  continues_ = continues;
  text_open_ = false;
  text_.clear(), ends_.clear(), ids_.clear(), sizes_.clear(), labels_.clear();
  unknown_ = {};
  split_lines_ = 0;
}

void TextBlock::add_text(std::string_view text) {
  text_ += text;
  ends_.push_back(text_.size());
}

void TextBlock::add_line(std::string_view line, bool first_of_document) {
  if (!first_of_document) text_ += '\n';
  text_ += line;
  text_open_ = true;
}

void TextBlock::close_text() {
  if (text_open_) ends_.push_back(text_.size());
  text_open_ = false;
}

void TextBlock::end_document(std::optional<int32_t> label) {
  if (label) labels_.push_back(*label);
  close_text();
  ends_.push_back(text_.size());
}

void TextBlock::tokenize(const BlockTokenizer& with) {
  close_text();
  const int64_t room = with.max_seq_length - 2;
  size_t begin = 0;
  for (size_t i = 0; i < ends_.size(); ++i) {
    const auto text = std::string_view(text_).substr(begin, ends_[i] - begin);
    begin = ends_[i];
    if (text.empty()) {
      sizes_.push_back(kDocumentEnd);
      continue;
    }
    const bool continues = continues_ && i == 0 && with.continuing;
    const AnyTokenizer& tokenizer = continues ? *with.continuing : with.tokenizer;
    const size_t before = ids_.size();
    tokenizer.append_ids(text, ids_);
    unknown_.add(tokenizer, text, std::span<const int32_t>(ids_).subspan(before));
    const auto size = static_cast<int64_t>(ids_.size() - before);
    if (with.split_long_lines && size > room) {
      ids_.resize(before);
      ++split_lines_;
      tokenize_pieces(text, with);
    } else {
      sizes_.push_back(static_cast<int32_t>(size));
    }
  }
}

// A long line as its sentences, and a long sentence as pieces of about half an example.
void TextBlock::tokenize_pieces(std::string_view line, const BlockTokenizer& with) {
  while (!line.empty()) {
    const auto sentence = take_sentence(line);
    const size_t before = ids_.size();
    with.tokenizer.append_ids(sentence, ids_);
    auto rest = std::span<const int32_t>(ids_).subspan(before);
    while (!rest.empty()) {
      const size_t size = piece_length(rest, with.max_seq_length, with.continues_word);
      sizes_.push_back(static_cast<int32_t>(size));
      rest = rest.subspan(size);
    }
  }
}

}  // namespace headwater
