#include "records/build_tokenizer.h"

#include <nlohmann/json.hpp>

#include "text/utf8.h"
#include "tokens/tokenizer_files.h"

namespace headwater {
namespace {

constexpr const char* kLowerCaseNote =
    "text is lower-cased, as the vocabulary holds no upper-case pieces (--no-lower-case turns it "
    "off)";
constexpr const char* kCaseNote =
    "text keeps its case, as the vocabulary holds upper-case or Hangul pieces (--do-lower-case "
    "lower-cases)";

Result<> check_family(const TokenizerFiles& files, RecordsTask task) {
  if (const auto* model = std::get_if<BpeModel>(&files.vocabulary)) {
    if (task != RecordsTask::kElectra) return {};
    return fail_hint(Code::kInvalidArgument, "ELECTRA's examples need a WordPiece vocabulary",
                     "{} is a byte-level BPE vocabulary", model->name());
  }
  if (task == RecordsTask::kGpt || task == RecordsTask::kRaw) return {};
  HW_RETURN_IF_ERROR(std::get<Vocabulary>(files.vocabulary).special_ids());
  return {};
}

}  // namespace

bool vocabulary_wants_lower_case(const Vocabulary& vocabulary) {
  for (const std::string& token : vocabulary.tokens()) {
    if (token.starts_with('[') && token.ends_with(']')) continue;  // specials are upper-case always
    for (size_t at = 0; at < token.size();) {
      const char32_t c = decode_utf8(token, at);
      if ((c >= 'A' && c <= 'Z') || (c >= 0xAC00 && c <= 0xD7A3)) return false;
    }
  }
  return true;
}

Result<AnyTokenizer> open_build_tokenizer(FileSystem& fs, const RecordsBuildOptions& options,
                                          RecordsTask task, const Fields* origins,
                                          std::vector<std::string>& notes) {
  HW_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(fs, options.vocab_file));
  HW_RETURN_IF_ERROR(check_family(files, task));
  HW_ASSIGN_OR_RETURN(TokenizerOptions rules, options_for(files, options.tokenizer, origins));
  const auto* vocabulary = std::get_if<Vocabulary>(&files.vocabulary);
  if (vocabulary == nullptr) return AnyTokenizer::create(files, rules);
  HW_ASSIGN_OR_RETURN(const Json asked, parse_json(files.options, files.origin));
  if (!options.lower_case_by_vocabulary) {
    rules.do_lower_case = options.tokenizer.do_lower_case;
  } else if (!asked.contains("do_lower_case")) {
    rules.do_lower_case = vocabulary_wants_lower_case(*vocabulary);
    notes.emplace_back(rules.do_lower_case ? kLowerCaseNote : kCaseNote);
  }
  if (task == RecordsTask::kElectra)
    rules.strip_accents = rules.do_lower_case && rules.strip_accents.value_or(true);
  return AnyTokenizer::create(files, rules);
}

}  // namespace headwater
