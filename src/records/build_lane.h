// One lane of a build: some of the corpus files, read in order, tokenised and made into examples.
//
// A build has a fixed number of lanes, and works in rounds: every lane reads a few blocks of lines,
// all blocks are tokenised, every lane passes its blocks to its maker of examples. Each phase runs
// on any number of threads, and the result does not depend on how many. Blocks of one file are
// tokenised side by side too, so that a single large file keeps all cores busy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "records/bert_examples.h"
#include "records/document_pool.h"
#include "records/electra_examples.h"
#include "records/example_output.h"
#include "records/gpt_examples.h"
#include "records/raw_examples.h"
#include "records/text_block.h"
#include "text/corpus.h"
#include "text/excluded_texts.h"

namespace headwater {

// What ends a document, besides the end of the file.
enum class DocumentEnd : uint8_t {
  kFile,       // nothing
  kRecord,     // the end of a record's text
  kBlankLine,  // a blank line, such as the one behind a record's text
  kLine        // every line
};

// What is read as one text.
enum class TextUnit : uint8_t {
  kLine,     // each line that is not blank, without the white space around it: a sentence
  kDocument  // a document as it stands, from its first line that is not blank
};

struct LaneRules {
  CorpusOptions corpus;
  TextUnit unit = TextUnit::kLine;
  DocumentEnd plain_end = DocumentEnd::kBlankLine;   // in plain files
  DocumentEnd record_end = DocumentEnd::kBlankLine;  // in .jsonl and .tsv
  int64_t max_seq_length = 128;
  const ExcludedTexts* excluded = nullptr;  // lines that hold one are passed over
};

struct LaneFile {
  int64_t number = 0;  // in the sorted list
  CorpusFile file;
};

// Makers have in common: start_file(number of the file), add_text(ids, output) for every text or
// part of one, end_document(output).
using ExampleMaker = std::variant<ElectraExamples, GptExamples, BertExamples, RawExamples>;

class BuildLane {
 public:
  BuildLane(FileSystem& fs, const LaneRules& rules, ExampleMaker maker,
            std::vector<LaneFile> files);

  bool done() const { return !reader_ && next_file_ == files_.size(); }
  // Phase 1: up to `limit` blocks.
  Result<> read(int64_t limit);
  std::span<TextBlock> blocks() { return std::span(blocks_).first(used_blocks_); }
  // Phase 3: the tokens of the blocks, to the maker.
  void take_blocks();
  // Phase 4, for makers that wait for the documents of all lanes: records of one copy of the text
  // after the other take the place of the output.
  std::vector<TokenizedDocument> take_documents();
  void make_copy(int64_t copy, std::span<const TokenizedDocument> documents,
                 const DocumentPool& pool);
  void end_round();

  // After the last round: what is left of the text goes to `next`, or, without it, into examples.
  void finish(BuildLane* next);

  // Records of this round, in order.
  const ExampleOutput& output() const { return output_; }
  const BuildCounts& counts() const { return output_.counts; }
  const UnknownReport& unknown() const { return unknown_; }
  const std::string& first_replaced() const { return first_replaced_; }
  // SHA-256 of the text of each file that was read through: (number, digest).
  const std::vector<std::pair<int64_t, std::string>>& digests() const { return digests_; }
  int64_t disk_bytes_done() const;  // for progress; an estimate inside a packed file

 private:
  Result<> open_next();
  void finish_file();
  TextBlock& new_block();
  Result<bool> read_block(TextBlock& block);
  Result<bool> next_line(std::string_view& line);
  bool is_excluded(std::string_view line);
  Result<> take_line(std::string_view line, bool more, TextBlock& block);
  Result<std::optional<int32_t>> label() const;
  bool may_begin_block(std::string_view line) const;

  FileSystem* fs_;
  const LaneRules* rules_;
  std::vector<LaneFile> files_;
  size_t next_file_ = 0;
  std::optional<LineReader> reader_;      // of files_[next_file_ - 1]
  int64_t finished_bytes_ = 0;            // on disk
  bool in_document_ = false;              // in the file that is being read
  std::optional<std::string> held_line_;  // read, but of the next block
  std::string line_;                      // the one that was held
  ExcludedTexts::Scratch scratch_;

  std::vector<TextBlock> blocks_;  // the first used_blocks_ hold this round's text
  size_t used_blocks_ = 0;

  ExampleMaker maker_;
  int64_t maker_file_ = -1;
  ExampleOutput output_;

  UnknownReport unknown_;
  std::string first_replaced_;
  std::vector<std::pair<int64_t, std::string>> digests_;
};

}  // namespace headwater
