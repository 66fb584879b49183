#include "records/exclusion.h"

namespace headwater {

Result<Exclusion> read_exclusion(FileSystem& fs, std::span<const std::string> paths,
                                 const CorpusOptions& options) {
  Exclusion exclusion;
  CorpusOptions texts_alone = options;
  texts_alone.label.reset();
  for (const std::string& path : paths) {
    HW_ASSIGN_OR_RETURN(const auto files, list_corpus(fs, path));
    for (const CorpusFile& file : files) {
      HW_ASSIGN_OR_RETURN(LineReader reader, LineReader::open(fs, file.path, texts_alone));
      for (std::string_view line;;) {
        HW_ASSIGN_OR_RETURN(const bool more, reader.next(line));
        if (!more) break;
        exclusion.texts.add(line);
      }
      exclusion.files.push_back({base_name(file.path), file.size, reader.digest()});
    }
  }
  if (exclusion.texts.empty())
    return fail(Code::kInvalidArgument, "{}: no text to leave out (--exclude)",
                fmt::join(paths, ", "));
  return exclusion;
}

}  // namespace headwater
