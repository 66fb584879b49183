// One lane of a build: some of the corpus files, read in order, tokenised and made into examples.
//
// A build has a fixed number of lanes, and works in rounds of three phases: every lane reads a few
// blocks of lines, all blocks are tokenised, every lane makes examples of its blocks. Each phase
// runs on any number of threads, and the result does not depend on how many. Blocks of one file are
// tokenised side by side too, so that a single large file keeps all cores busy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/electra_builder.h"
#include "text/corpus.h"
#include "tokens/tokenizer.h"
#include "tokens/unknown_report.h"

namespace headwater {

struct LaneOptions {
  CorpusOptions corpus;
  int64_t max_seq_length = 128;
  bool blanks_separate_docs = true;
  bool split_long_lines = false;
  SpecialIds specials;
  Key key;  // of the build; a file's draws are those of its place in the sorted list
};

struct LaneFile {
  int64_t number = 0;  // in the sorted list
  CorpusFile file;
};

struct BuildCounts {
  int64_t files = 0, files_with_text = 0;
  int64_t bytes = 0;      // of text, unpacked
  int64_t lines = 0;      // of the files
  int64_t documents = 0;  // runs of sentences that nothing ends but a blank line or the file
  int64_t sentences = 0;  // lines with text, or pieces of them
  int64_t split_lines = 0;
  int64_t examples = 0;
  int64_t tokens = 0;          // of all sentences
  int64_t kept_tokens = 0;     // in examples, without [CLS], [SEP] and padding
  int64_t lost_tokens = 0;     // cut off at the end of examples
  int64_t long_line_lost = 0;  // of these: what sentences hold beyond the room of a whole example
  int64_t unknown_tokens = 0;
  int64_t replaced_lines = 0;  // lines with invalid UTF-8 that was replaced
  void add(const BuildCounts& other);
};

// Some lines of one file.
class TextBlock {
 public:
  static constexpr size_t kBytes = size_t{256} << 10;
  static constexpr int32_t kDocumentEnd = -1;

  void start(int64_t file_number);
  void add_sentence(std::string_view text);  // not empty
  void end_document();
  bool full() const { return text_.size() >= kBytes || ends_.size() >= kBytes / 8; }
  // Phase 2. Blocks may be tokenised at the same time.
  void tokenize(const Tokenizer& tokenizer, const LaneOptions& options,
                const std::vector<bool>& continues_word);

  int64_t file_number() const { return file_number_; }
  std::string_view text() const { return text_; }
  const std::vector<int32_t>& ids() const { return ids_; }
  // Tokens of one sentence after the other, or kDocumentEnd.
  const std::vector<int32_t>& sizes() const { return sizes_; }
  const UnknownReport& unknown() const { return unknown_; }
  int64_t split_lines() const { return split_lines_; }

 private:
  void tokenize_pieces(std::string_view line, const Tokenizer& tokenizer,
                       const LaneOptions& options, const std::vector<bool>& continues_word);

  int64_t file_number_ = 0;
  std::string text_;
  std::vector<size_t> ends_;  // of each entry in text_; an empty entry ends a document
  std::vector<int32_t> ids_, sizes_;
  UnknownReport unknown_;
  int64_t split_lines_ = 0;
};

class ExampleLane {
 public:
  ExampleLane(FileSystem& fs, const LaneOptions& options, std::vector<LaneFile> files);

  bool done() const { return !reader_ && next_file_ == files_.size(); }
  // Phase 1: up to `limit` blocks.
  Result<> read(int64_t limit);
  std::span<TextBlock> blocks() { return std::span(blocks_).first(used_blocks_); }
  // Phase 3: examples of the blocks, ready to be written, in order.
  void make_examples();
  template <class Visit>
  Result<> visit_payloads(Visit visit) const {
    size_t begin = 0;
    for (const size_t end : payload_ends_) {
      HW_RETURN_IF_ERROR(visit(std::string_view(payloads_).substr(begin, end - begin)));
      begin = end;
    }
    return {};
  }

  const BuildCounts& counts() const { return counts_; }
  const UnknownReport& unknown() const { return unknown_; }
  const std::string& first_replaced() const { return first_replaced_; }
  // SHA-256 of the text of each file that was read through: (number, digest).
  const std::vector<std::pair<int64_t, std::string>>& digests() const { return digests_; }
  int64_t disk_bytes_done() const;  // for progress; an estimate inside a packed file

 private:
  Result<> open_next();
  void finish_file();
  TextBlock& new_block();
  void add_example();

  FileSystem* fs_;
  const LaneOptions* options_;
  std::vector<LaneFile> files_;
  size_t next_file_ = 0;
  std::optional<LineReader> reader_;  // of files_[next_file_ - 1]
  int64_t finished_bytes_ = 0;        // on disk
  bool ended_document_ = true;        // in the file that is being read

  std::vector<TextBlock> blocks_;  // the first used_blocks_ hold this round's text
  size_t used_blocks_ = 0;

  std::optional<ElectraExampleBuilder> builder_;
  int64_t builder_file_ = -1;
  bool in_document_ = false;
  ElectraExample example_;
  std::vector<int32_t> input_ids_, input_mask_, segment_ids_;  // [T] scratch
  std::string payloads_;                                       // of this round, back to back
  std::vector<size_t> payload_ends_;

  BuildCounts counts_;
  UnknownReport unknown_;
  std::string first_replaced_;
  std::vector<std::pair<int64_t, std::string>> digests_;
};

}  // namespace headwater
