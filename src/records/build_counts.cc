#include "records/build_counts.h"

namespace headwater {

void BuildCounts::add(const BuildCounts& other) {
  files += other.files, files_with_text += other.files_with_text;
  bytes += other.bytes, lines += other.lines, documents += other.documents;
  sentences += other.sentences, split_lines += other.split_lines, examples += other.examples;
  tokens += other.tokens, kept_tokens += other.kept_tokens;
  special_tokens += other.special_tokens, lost_tokens += other.lost_tokens;
  long_line_lost += other.long_line_lost, cut_examples += other.cut_examples;
  unknown_tokens += other.unknown_tokens, replaced_lines += other.replaced_lines;
  excluded_exact += other.excluded_exact, excluded_near += other.excluded_near;
  pairs += other.pairs, positive_pairs += other.positive_pairs;
  same_document_pairs += other.same_document_pairs;
}

}  // namespace headwater
