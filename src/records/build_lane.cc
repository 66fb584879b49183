#include "records/build_lane.h"

#include <algorithm>
#include <charconv>

#include "text/utf8.h"
#include "text/white_space.h"

namespace headwater {

BuildLane::BuildLane(FileSystem& fs, const LaneRules& rules, ExampleMaker maker,
                     std::vector<LaneFile> files)
    : fs_(&fs), rules_(&rules), files_(std::move(files)), maker_(std::move(maker)) {}

Result<> BuildLane::open_next() {
  HW_ASSIGN_OR_RETURN(reader_,
                      LineReader::open(*fs_, files_[next_file_].file.path, rules_->corpus));
  ++next_file_;
  in_document_ = false;
  return {};
}

void BuildLane::finish_file() {
  const LaneFile& file = files_[next_file_ - 1];
  BuildCounts& counts = output_.counts;
  ++counts.files;
  counts.bytes += reader_->bytes_read();
  counts.lines += reader_->line_number();
  counts.replaced_lines += reader_->replaced_lines();
  if (first_replaced_.empty()) first_replaced_ = reader_->first_replaced();
  digests_.emplace_back(file.number, reader_->digest());
  finished_bytes_ += file.file.size;
  reader_.reset();
}

TextBlock& BuildLane::new_block() {
  if (used_blocks_ == blocks_.size()) blocks_.emplace_back();
  TextBlock& block = blocks_[used_blocks_++];
  const bool continues = rules_->unit == TextUnit::kDocument && in_document_;
  block.start(files_[next_file_ - 1].number, continues);
  return block;
}

Result<> BuildLane::read(int64_t limit) {
  used_blocks_ = 0;
  while (static_cast<int64_t>(used_blocks_) < limit && !done()) {
    if (!reader_) HW_RETURN_IF_ERROR(open_next());
    HW_ASSIGN_OR_RETURN(const bool more, read_block(new_block()));
    if (!more) finish_file();
  }
  return {};
}

// False at the end of the file.
Result<bool> BuildLane::read_block(TextBlock& block) {
  const bool whole_documents = rules_->unit == TextUnit::kDocument;
  bool more = true;
  while (more && !(block.full() && !(whole_documents && in_document_))) {
    std::string_view line;
    HW_ASSIGN_OR_RETURN(more, next_line(line));
    if (more && block.full() && (block.overfull() || may_begin_block(line))) {
      held_line_.emplace(line);
      break;
    }
    HW_RETURN_IF_ERROR(take_line(line, more, block));
  }
  return more;
}

Result<bool> BuildLane::next_line(std::string_view& line) {
  if (!held_line_) {
    do {
      line = {};  // the end of the file has no line: not the one before it, left out or not
      HW_ASSIGN_OR_RETURN(const bool more, reader_->next(line));
      if (!more) return false;
    } while (is_excluded(line));
    return true;
  }
  line_.swap(*held_line_);
  held_line_.reset();
  line = line_;
  return true;
}

bool BuildLane::is_excluded(std::string_view line) {
  if (rules_->excluded == nullptr) return false;
  const ExcludedTexts::Match match = rules_->excluded->match(line, scratch_);
  output_.counts.excluded_exact += match == ExcludedTexts::Match::kHolds ? 1 : 0;
  output_.counts.excluded_near += match == ExcludedTexts::Match::kNearly ? 1 : 0;
  return match != ExcludedTexts::Match::kNone;
}

// Tokens do not reach across the end of a line that is followed by something else than white space:
// a document that is cut there has the tokens that it has as a whole. Text without such a place is
// cut at some line, to bound memory.
bool BuildLane::may_begin_block(std::string_view line) const {
  if (line.empty()) return false;
  size_t next = 0;
  return !is_white_space(decode_utf8(line, next));
}

Result<> BuildLane::take_line(std::string_view line, bool more, TextBlock& block) {
  const DocumentEnd end = reader_->holds_records() ? rules_->record_end : rules_->plain_end;
  const auto sentence = strip_white_space(line);
  const bool blank = sentence.empty();
  // The end of the document: a line that is none of its text.
  const bool separates = !more || (end == DocumentEnd::kBlankLine && blank) ||
                         (end == DocumentEnd::kRecord && reader_->record_ended());
  if (rules_->unit == TextUnit::kLine && !blank) {
    block.add_text(sentence);
    in_document_ = true;
  } else if (rules_->unit == TextUnit::kDocument && !separates && (in_document_ || !blank)) {
    block.add_line(line, !in_document_);
    in_document_ = true;
  }
  if (in_document_ && (separates || end == DocumentEnd::kLine)) {
    HW_ASSIGN_OR_RETURN(const std::optional<int32_t> of_document, label());
    block.end_document(of_document);
    in_document_ = false;
  }
  return {};
}

// Of the record that ends; none where none was asked for.
Result<std::optional<int32_t>> BuildLane::label() const {
  if (!rules_->corpus.label) return std::optional<int32_t>();
  const std::string place =
      fmt::format("{}: line {}", files_[next_file_ - 1].file.path, reader_->line_number());
  if (!reader_->holds_records())
    return fail(Code::kInvalidArgument, "{}: a plain text has no label: .jsonl and .tsv do", place);
  const std::string& written = reader_->label();
  int32_t number = 0;
  const auto [end, error] =
      std::from_chars(written.data(), written.data() + written.size(), number);
  if (error == std::errc() && end == written.data() + written.size() && number >= 0)
    return std::optional(number);
  return fail_hint(Code::kInvalidArgument, "number the classes 0, 1, 2 ..",
                   "{}: the label '{}' is no class", place, written);
}

void BuildLane::take_blocks() {
  output_.clear();
  BuildCounts& counts = output_.counts;
  const int64_t room = rules_->max_seq_length - 2;
  const auto pass_on = [&](const TextBlock& block, auto& maker) {
    if (block.file_number() != maker_file_) {
      maker_file_ = block.file_number();
      maker.start_file(maker_file_);
      if (!block.sizes().empty()) ++counts.files_with_text;
    }
    auto ids = std::span<const int32_t>(block.ids());
    auto labels = std::span<const int32_t>(block.labels());
    for (const int32_t size : block.sizes()) {
      if (size == TextBlock::kDocumentEnd) {
        ++counts.documents;
        if constexpr (requires { maker.set_label(0); }) {
          if (!labels.empty()) maker.set_label(labels.front());
        }
        if (!labels.empty()) labels = labels.subspan(1);
        maker.end_document(output_);
        continue;
      }
      if (rules_->unit == TextUnit::kLine) {
        ++counts.sentences;
        counts.long_line_lost += std::max<int64_t>(0, size - room);
      }
      maker.add_text(ids.first(static_cast<size_t>(size)), output_);
      ids = ids.subspan(static_cast<size_t>(size));
    }
  };
  for (const TextBlock& block : blocks()) {
    std::visit([&](auto& maker) { pass_on(block, maker); }, maker_);
    counts.tokens += static_cast<int64_t>(block.ids().size());
    counts.unknown_tokens += block.unknown().unknown();
    unknown_.merge(block.unknown());
    counts.split_lines += block.split_lines();
  }
}

std::vector<TokenizedDocument> BuildLane::take_documents() {
  auto* bert = std::get_if<BertExamples>(&maker_);
  return bert != nullptr ? bert->take_documents() : std::vector<TokenizedDocument>();
}

void BuildLane::make_copy(int64_t copy, std::span<const TokenizedDocument> documents,
                          const DocumentPool& pool) {
  auto* bert = std::get_if<BertExamples>(&maker_);
  if (bert == nullptr) return;
  output_.clear();
  bert->make_copy(copy, documents, pool, output_);
}

void BuildLane::end_round() {
  if (auto* bert = std::get_if<BertExamples>(&maker_)) bert->end_round();
}

void BuildLane::finish(BuildLane* next) {
  output_.clear();
  if (auto* gpt = std::get_if<GptExamples>(&maker_)) {
    if (next != nullptr) gpt->hand_over(std::get<GptExamples>(next->maker_), output_);
    else gpt->finish(output_);
  }
  if (auto* bert = std::get_if<BertExamples>(&maker_)) {
    bert->finish();
    for (int64_t copy = 0; copy < bert->copies(); ++copy) bert->make_copy(copy, {}, {}, output_);
  }
}

int64_t BuildLane::disk_bytes_done() const {
  if (!reader_) return finished_bytes_;
  constexpr int64_t kTypicalRatio = 4;  // of packed text
  const CorpusFile& file = files_[next_file_ - 1].file;
  const bool packed =
      file.path.ends_with(".gz") || file.path.ends_with(".xz") || file.path.ends_with(".zst");
  return finished_bytes_ +
         std::min(file.size, reader_->bytes_read() / (packed ? kTypicalRatio : 1));
}

}  // namespace headwater
