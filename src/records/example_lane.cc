#include "records/example_lane.h"

#include <algorithm>
#include <array>

#include "records/example.h"
#include "records/long_lines.h"
#include "text/white_space.h"

namespace headwater {

void BuildCounts::add(const BuildCounts& other) {
  files += other.files, files_with_text += other.files_with_text;
  bytes += other.bytes, lines += other.lines, documents += other.documents;
  sentences += other.sentences, split_lines += other.split_lines, examples += other.examples;
  tokens += other.tokens, kept_tokens += other.kept_tokens, lost_tokens += other.lost_tokens;
  long_line_lost += other.long_line_lost, unknown_tokens += other.unknown_tokens;
  replaced_lines += other.replaced_lines;
}

void TextBlock::start(int64_t file_number) {
  file_number_ = file_number;
  text_.clear(), ends_.clear(), ids_.clear(), sizes_.clear();
  unknown_ = {};
  split_lines_ = 0;
}

void TextBlock::add_sentence(std::string_view text) {
  text_ += text;
  ends_.push_back(text_.size());
}

void TextBlock::end_document() { ends_.push_back(text_.size()); }

void TextBlock::tokenize(const Tokenizer& tokenizer, const LaneOptions& options,
                         const std::vector<bool>& continues_word) {
  const int64_t room = options.max_seq_length - 2;
  size_t begin = 0;
  for (const size_t end : ends_) {
    const auto line = std::string_view(text_).substr(begin, end - begin);
    begin = end;
    if (line.empty()) {
      sizes_.push_back(kDocumentEnd);
      continue;
    }
    const size_t before = ids_.size();
    tokenizer.append_ids(line, ids_);
    unknown_.add(tokenizer, line, std::span<const int32_t>(ids_).subspan(before));
    const auto size = static_cast<int64_t>(ids_.size() - before);
    if (options.split_long_lines && size > room) {
      ids_.resize(before);
      ++split_lines_;
      tokenize_pieces(line, tokenizer, options, continues_word);
    } else {
      sizes_.push_back(static_cast<int32_t>(size));
    }
  }
}

// A long line as its sentences, and a long sentence as pieces of about half an example.
void TextBlock::tokenize_pieces(std::string_view line, const Tokenizer& tokenizer,
                                const LaneOptions& options,
                                const std::vector<bool>& continues_word) {
  while (!line.empty()) {
    const auto sentence = take_sentence(line);
    const size_t before = ids_.size();
    tokenizer.append_ids(sentence, ids_);
    auto rest = std::span<const int32_t>(ids_).subspan(before);
    while (!rest.empty()) {
      const size_t size = piece_length(rest, options.max_seq_length, continues_word);
      sizes_.push_back(static_cast<int32_t>(size));
      rest = rest.subspan(size);
    }
  }
}

ExampleLane::ExampleLane(FileSystem& fs, const LaneOptions& options, std::vector<LaneFile> files)
    : fs_(&fs), options_(&options), files_(std::move(files)) {}

Result<> ExampleLane::open_next() {
  HW_ASSIGN_OR_RETURN(reader_,
                      LineReader::open(*fs_, files_[next_file_].file.path, options_->corpus));
  ++next_file_;
  ended_document_ = true;
  return {};
}

void ExampleLane::finish_file() {
  const LaneFile& file = files_[next_file_ - 1];
  ++counts_.files;
  counts_.bytes += reader_->bytes_read();
  counts_.lines += reader_->line_number();
  counts_.replaced_lines += reader_->replaced_lines();
  if (first_replaced_.empty()) first_replaced_ = reader_->first_replaced();
  digests_.emplace_back(file.number, reader_->digest());
  finished_bytes_ += file.file.size;
  reader_.reset();
}

TextBlock& ExampleLane::new_block() {
  if (used_blocks_ == blocks_.size()) blocks_.emplace_back();
  TextBlock& block = blocks_[used_blocks_++];
  block.start(files_[next_file_ - 1].number);
  return block;
}

Result<> ExampleLane::read(int64_t limit) {
  used_blocks_ = 0;
  while (static_cast<int64_t>(used_blocks_) < limit && !done()) {
    if (!reader_) HW_RETURN_IF_ERROR(open_next());
    TextBlock& block = new_block();
    bool more = true;
    while (more && !block.full()) {
      std::string_view line;
      HW_ASSIGN_OR_RETURN(more, reader_->next(line));
      const auto sentence = more ? strip_white_space(line) : std::string_view();
      if (!sentence.empty()) {
        block.add_sentence(sentence);
        ended_document_ = false;
      } else if (!ended_document_ && (!more || options_->blanks_separate_docs)) {
        block.end_document();
        ended_document_ = true;
      }
    }
    if (!more) finish_file();
  }
  return {};
}

void ExampleLane::make_examples() {
  payloads_.clear(), payload_ends_.clear();
  const int64_t room = options_->max_seq_length - 2;
  for (const TextBlock& block : blocks()) {
    if (block.file_number() != builder_file_) {
      builder_file_ = block.file_number();
      const Key key = options_->key.fold_in(static_cast<uint32_t>(builder_file_));
      builder_.emplace(options_->max_seq_length, options_->specials.cls, options_->specials.sep,
                       threefry_draws(key));
      if (!block.sizes().empty()) ++counts_.files_with_text;
    }
    auto ids = std::span<const int32_t>(block.ids());
    for (const int32_t size : block.sizes()) {
      if (size == TextBlock::kDocumentEnd) {
        ++counts_.documents;
        if (builder_->end_document(example_)) add_example();
        continue;
      }
      ++counts_.sentences;
      counts_.long_line_lost += std::max<int64_t>(0, size - room);
      if (builder_->add_sentence(ids.first(static_cast<size_t>(size)), example_)) add_example();
      ids = ids.subspan(static_cast<size_t>(size));
    }
    counts_.tokens += static_cast<int64_t>(block.ids().size());
    counts_.unknown_tokens += block.unknown().unknown();
    unknown_.merge(block.unknown());
    counts_.split_lines += block.split_lines();
  }
}

void ExampleLane::add_example() {
  const auto length = static_cast<size_t>(options_->max_seq_length);
  const size_t used = example_.input_ids.size();
  const auto first = static_cast<size_t>(example_.first_segment);
  input_ids_.assign(example_.input_ids.begin(), example_.input_ids.end());
  input_ids_.resize(length, options_->specials.pad);
  input_mask_.assign(used, 1);
  input_mask_.resize(length, 0);
  segment_ids_.assign(first, 0);
  segment_ids_.resize(used, 1);
  segment_ids_.resize(length, 0);
  const std::array<IntFeature, 3> features = {
      {{"input_ids", input_ids_}, {"input_mask", input_mask_}, {"segment_ids", segment_ids_}}};
  append_example(features, payloads_);
  payload_ends_.push_back(payloads_.size());
  ++counts_.examples;
  counts_.lost_tokens += example_.lost_tokens;
  counts_.kept_tokens += static_cast<int64_t>(used) - (first == used ? 2 : 3);
}

int64_t ExampleLane::disk_bytes_done() const {
  if (!reader_) return finished_bytes_;
  constexpr int64_t kTypicalRatio = 4;  // of packed text
  const CorpusFile& file = files_[next_file_ - 1].file;
  const bool packed =
      file.path.ends_with(".gz") || file.path.ends_with(".xz") || file.path.ends_with(".zst");
  return finished_bytes_ +
         std::min(file.size, reader_->bytes_read() / (packed ? kTypicalRatio : 1));
}

}  // namespace headwater
