// What a build counts on its way.
#pragma once

#include <cstdint>
#include <string>

namespace headwater {

// A file that went into a build.
struct BuildInput {
  std::string name;    // inside the corpus folder
  int64_t bytes = 0;   // on disk
  std::string sha256;  // of the unpacked text
};

struct BuildCounts {
  int64_t files = 0, files_with_text = 0;
  int64_t bytes = 0;      // of text, unpacked
  int64_t lines = 0;      // of the files
  int64_t documents = 0;  // what nothing ends but a blank line, a record or the file
  int64_t sentences = 0;  // lines with text, or pieces of them; 0 where texts are taken whole
  int64_t split_lines = 0;
  int64_t examples = 0;
  int64_t tokens = 0;          // of all texts
  int64_t kept_tokens = 0;     // in examples, without special tokens and padding
  int64_t special_tokens = 0;  // in examples: [CLS], [SEP], end-of-text
  int64_t lost_tokens = 0;     // in no example
  int64_t long_line_lost = 0;  // of these: what sentences hold beyond the room of a whole example
  int64_t cut_examples = 0;    // raw: examples that lost tokens
  int64_t unknown_tokens = 0;
  int64_t replaced_lines = 0;  // lines with invalid UTF-8 that was replaced
  // Lines left out: they hold a text that is to be excluded, or nearly.
  int64_t excluded_exact = 0, excluded_near = 0;

  // Pairs of BERT: how many there are, with label 1 (a random next sentence, or swapped ones), and
  // with a "random" sentence of the same document, as no other was at hand.
  int64_t pairs = 0, positive_pairs = 0, same_document_pairs = 0;

  int64_t excluded() const { return excluded_exact + excluded_near; }
  void add(const BuildCounts& other);
};

}  // namespace headwater
