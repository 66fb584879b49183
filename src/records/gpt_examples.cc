#include "records/gpt_examples.h"

#include <algorithm>

namespace headwater {

void GptOptions::describe(Fields& f) {
  f.group("Examples of --task gpt");
  f("end_of_text", end_of_text,
    "token behind every document; without it <|endoftext|>, or [SEP] of a WordPiece vocabulary")
      .value_name("TOKEN");
  f("one_document_per_example", one_document_per_example,
    "do not join documents: an example each, long ones cut; for training with --pack");
  f("last_block", last_block,
    "the text left at the end of all documents, shorter than a block: keep as a short block, so "
    "that no text is lost, or drop, as Hugging Face's scripts do")
      .one_of({"keep", "drop"});
}

Result<int32_t> GptOptions::end_of_text_id(const AnyTokenizer& tokenizer) const {
  std::optional<int32_t> id;
  if (end_of_text) id = tokenizer.find(*end_of_text);
  else id = tokenizer.word_pieces() != nullptr ? tokenizer.find("[SEP]") : tokenizer.end_of_text();
  if (id) return *id;
  return fail_hint(Code::kInvalidArgument, "name the token that ends a text: --end-of-text '</s>'",
                   "{} has no token {}", tokenizer.name(),
                   end_of_text
                       ? *end_of_text
                       : std::string(tokenizer.word_pieces() != nullptr ? std::string_view("[SEP]")
                                                                        : BpeModel::kEndOfText));
}

GptExamples::GptExamples(const GptOptions& options, int64_t block_length, int32_t end_of_text)
    : block_length_(static_cast<size_t>(block_length)),
      end_of_text_(end_of_text),
      one_document_(options.one_document_per_example),
      keeps_last_(options.one_document_per_example || options.last_block == "keep") {}

void GptExamples::add_text(std::span<const int32_t> ids, ExampleOutput& out) {
  rest_.insert(rest_.end(), ids.begin(), ids.end());
  cut_blocks(out);
}

void GptExamples::end_document(ExampleOutput& out) {
  rest_.push_back(end_of_text_);
  cut_blocks(out);
  if (one_document_) finish(out);
}

void GptExamples::cut_blocks(ExampleOutput& out) {
  auto text = std::span<const int32_t>(rest_);
  while (text.size() >= block_length_) {
    add_block(text.first(block_length_), out);
    text = text.subspan(block_length_);
  }
  rest_.erase(rest_.begin(), rest_.end() - static_cast<std::ptrdiff_t>(text.size()));
}

void GptExamples::hand_over(GptExamples& next, ExampleOutput& out) {
  next.rest_.insert(next.rest_.end(), rest_.begin(), rest_.end());
  rest_.clear();
  next.cut_blocks(out);
}

void GptExamples::finish(ExampleOutput& out) {
  if (rest_.empty()) return;
  if (keeps_last_) add_block(rest_, out);
  else out.counts.lost_tokens += count_text(rest_);
  rest_.clear();
}

void GptExamples::add_block(std::span<const int32_t> ids, ExampleOutput& out) {
  const IntFeature feature = {"input_ids", ids};
  out.add(std::span(&feature, 1));
  const int64_t text = count_text(ids);
  out.counts.kept_tokens += text;
  out.counts.special_tokens += static_cast<int64_t>(ids.size()) - text;
}

int64_t GptExamples::count_text(std::span<const int32_t> ids) const {
  return static_cast<int64_t>(ids.size()) - std::ranges::count(ids, end_of_text_);
}

}  // namespace headwater
