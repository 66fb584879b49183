#include "text/corpus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/digest.h"
#include "io/fault_files.h"
#include "io/memory_files.h"
#include "text/utf8.h"

namespace headwater {
namespace {

using Lines = std::vector<std::string>;

Result<Lines> read_lines(FileSystem& fs, const std::string& path,
                         const CorpusOptions& options = {}) {
  HW_ASSIGN_OR_RETURN(LineReader reader, LineReader::open(fs, path, options));
  Lines lines;
  while (true) {
    std::string_view line;
    HW_ASSIGN_OR_RETURN(const bool more, reader.next(line));
    if (!more) return lines;
    lines.emplace_back(line);
  }
}

Lines lines_of(const std::string& content, const std::string& name = "a.txt",
               const CorpusOptions& options = {}) {
  MemoryFileSystem fs;
  fs.put(name, content);
  auto lines = read_lines(fs, name, options);
  EXPECT_TRUE(lines.has_value()) << lines.error().to_string();
  return lines.value_or(Lines{});
}

std::string error_of(const std::string& content, const std::string& name = "a.txt",
                     const CorpusOptions& options = {}) {
  MemoryFileSystem fs;
  fs.put(name, content);
  auto lines = read_lines(fs, name, options);
  EXPECT_FALSE(lines.has_value());
  return lines ? "" : lines.error().to_string();
}

TEST(LineReader, LineEnds) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("하나\n둘"), (Lines{"하나", "둘"}));
  EXPECT_EQ(lines_of("하나\r\n\r\n둘\r\n"), (Lines{"하나", "", "둘"}));
  EXPECT_EQ(lines_of("a\rb\n"), Lines{"a\rb"});  // a lone CR is no line end
  EXPECT_EQ(lines_of("a\u2028b\n"), Lines{"a\u2028b"});
}

TEST(LineReader, TellsTheEndOfARecordFromABlankLine) {
  MemoryFileSystem fs;
  fs.put("a.jsonl", "{\"text\": \"a\\n\\nb\"}\n");
  fs.put("a.txt", "a\n\n");
  const auto ends = [&](const char* path) {
    auto reader = *LineReader::open(fs, path);
    std::vector<bool> ended;
    for (std::string_view line; *reader.next(line);) ended.push_back(reader.record_ended());
    return ended;
  };
  EXPECT_EQ(ends("a.jsonl"), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(ends("a.txt"), (std::vector<bool>{false, false}));
  EXPECT_TRUE(LineReader::open(fs, "a.jsonl")->holds_records());
  EXPECT_FALSE(LineReader::open(fs, "a.txt")->holds_records());
}

TEST(LineReader, ByteOrderMarkOnlyAtTheStart) {
  EXPECT_EQ(lines_of("\uFEFF가\n\uFEFF나\n"), (Lines{"가", "\uFEFF나"}));
  EXPECT_EQ(lines_of("\uFEFF"), Lines{""});
}

TEST(LineReader, LinesAcrossChunks) {
  Lines expected;
  std::string content;
  for (const size_t n : {300000, 0, 1, 262143, 262144, 262145, 700000, 5})
    content += expected.emplace_back(n, 'x') + "\n";
  EXPECT_EQ(lines_of(content), expected);
}

TEST(LineReader, CountsAndDigest) {
  MemoryFileSystem fs;
  const std::string content = "\uFEFF하나\n\n둘";
  fs.put("a.txt", content);
  auto reader = LineReader::open(fs, "a.txt");
  ASSERT_TRUE(reader.has_value());
  std::string_view line;
  for (int64_t n = 1; *reader->next(line); ++n) EXPECT_EQ(reader->line_number(), n);
  EXPECT_EQ(reader->line_number(), 3);
  EXPECT_EQ(reader->bytes_read(), static_cast<int64_t>(content.size()));
  EXPECT_EQ(reader->digest(), sha256_hex(content));
}

TEST(LineReader, LongestLine) {
  CorpusOptions options;
  options.max_line_bytes = 10;
  EXPECT_EQ(lines_of("0123456789\nab\n", "a.txt", options), (Lines{"0123456789", "ab"}));
  EXPECT_EQ(error_of("ab\n0123456789a\n", "a.txt", options),
            "a.txt: line 2 is longer than 10 bytes; split the text into lines, or raise "
            "--max-line-bytes");
  // Without an end in sight the reader stops early instead of filling the memory.
  EXPECT_NE(error_of(std::string(5 << 20, 'x'), "a.txt", options).find("line 1"),
            std::string::npos);
}

TEST(LineReader, InvalidUtf8IsAnErrorWithItsPlace) {
  EXPECT_EQ(error_of("ok\n가\xFF나\n"),
            "a.txt: line 2: invalid UTF-8 at byte 6 of the file; convert the file (Korean text is "
            "often cp949: iconv -f cp949 -t utf-8), or use --invalid-utf8 replace");
  EXPECT_NE(error_of(std::string("\xFF\xFE"
                                 "a\0\n\0",
                                 6))
                .find("UTF-16"),
            std::string::npos);
  EXPECT_NE(error_of("\uFEFFx\xC0\xAF").find("line 1: invalid UTF-8 at byte 4"), std::string::npos);
}

TEST(LineReader, InvalidUtf8Replaced) {
  CorpusOptions options;
  options.invalid_utf8 = "replace";
  MemoryFileSystem fs;
  fs.put("a.txt", "ok\n\xFF\xFE stray\nno end \xEC\x95");
  auto reader = LineReader::open(fs, "a.txt", options);
  ASSERT_TRUE(reader.has_value());
  std::string_view line;
  Lines lines;
  while (*reader->next(line)) lines.emplace_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "\uFFFD\uFFFD stray");
  EXPECT_TRUE(lines[2].starts_with("no end \uFFFD"));
  EXPECT_EQ(reader->replaced_lines(), 2);
  EXPECT_EQ(reader->first_replaced(), "a.txt: line 2, byte 3");
}

// Case B008: every kind of damage, by policy, with file, line and byte.
TEST(LineReader, CaseOfBadUtf8) {
  const std::string content =
      "ok line\n\xED\xA0\xBC\xED\xBC\xB7 surrogate pair bytes\n\xFF\xFE stray\n\xC0\xAF "
      "overlong\nno end \xEC\x95";
  EXPECT_NE(error_of(content).find("a.txt: line 2: invalid UTF-8 at byte 8 of the file"),
            std::string::npos);
  CorpusOptions options;
  options.invalid_utf8 = "replace";
  EXPECT_EQ(lines_of(content, "a.txt", options).size(), 5u);
}

TEST(LineReader, JsonLines) {
  EXPECT_EQ(lines_of("{\"text\": \"하나\\n둘\", \"id\": 1}\n\n{\"text\":\"셋\"}", "a.jsonl"),
            (Lines{"하나", "둘", "", "셋", ""}));
  CorpusOptions options;
  options.text_field = "body";
  EXPECT_EQ(lines_of("{\"body\": \"\"}\n", "a.ndjson", options), (Lines{"", ""}));
  EXPECT_EQ(error_of("{\"text\": \"a\"}\n{\"title\": \"b\", \"n\": 3}\n", "a.jsonl"),
            "a.jsonl: line 2: no text in field 'text'; text fields found: title; name the field "
            "that holds the text: --text-field");
  EXPECT_NE(error_of("{\"text\": 3}\n", "a.jsonl").find("line 1"), std::string::npos);
  EXPECT_NE(error_of("{\"in\": {\"text\": \"a\"}}\n", "a.jsonl").find("no text"),
            std::string::npos);
  EXPECT_NE(error_of("[{\"text\": \"a\"}]\n", "a.jsonl").find("not a JSON object"),
            std::string::npos);
  EXPECT_NE(error_of("{\"text\": \"a\", \"text\": [\"b\"]}\n", "a.jsonl").find("no text"),
            std::string::npos);
  EXPECT_EQ(lines_of("{\"m\": {\"text\": [\"x\"]}, \"text\": \"a\\u00e9\", \"n\": [1.5, null]}\n",
                     "a.jsonl"),
            (Lines{"a\u00e9", ""}));
  EXPECT_NE(error_of("[1]\n", "a.jsonl").find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("{\"text\"\n", "a.jsonl").find("a.jsonl: line 1"), std::string::npos);
}

TEST(LineReader, Tables) {
  const std::string table = "id\ttext\n1\t하나\n2\t둘\textra\n";
  CorpusOptions options;
  options.tsv_column = "text";
  EXPECT_EQ(lines_of(table, "a.tsv", options), (Lines{"하나", "", "둘", ""}));
  options.tsv_column = "2";
  EXPECT_EQ(lines_of(table, "a.tsv", options), (Lines{"text", "", "하나", "", "둘", ""}));
  options.tsv_column = "3";
  EXPECT_EQ(error_of(table, "a.tsv", options),
            "a.tsv: line 1: 2 columns, but the text is in column 3");
  options.tsv_column = "body";
  EXPECT_NE(error_of(table, "a.tsv", options).find("no column 'body' in the first line"),
            std::string::npos);
  options.tsv_column = "0";
  EXPECT_NE(error_of(table, "a.tsv", options).find("must be 1 or more"), std::string::npos);
  options.tsv_column.reset();
  EXPECT_NE(error_of(table, "a.tsv", options).find("--tsv-column"), std::string::npos);
}

TEST(LineReader, ReadErrorsSurface) {
  MemoryFileSystem memory;
  memory.put("a.txt", std::string(1 << 20, 'x') + "\n");
  FaultFileSystem fs(memory);
  fs.fail_read_at(3);
  EXPECT_FALSE(read_lines(fs, "a.txt").has_value());
}

TEST(LineReader, MissingFile) {
  MemoryFileSystem fs;
  auto reader = LineReader::open(fs, "none.txt");
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().code, Code::kNotFound);
}

TEST(Corpus, ListsFilesSortedWithSubfoldersAndWithoutHidden) {
  MemoryFileSystem fs;
  for (const char* name :
       {"c/b.txt", "c/a.jsonl", "c/.hidden", "c/sub/z.txt.gz", "c/.git/x", "c/data_0001"})
    fs.put(name, "x");
  auto files = list_corpus(fs, "c");
  ASSERT_TRUE(files.has_value()) << files.error().to_string();
  Lines names;
  for (const auto& file : *files) names.push_back(file.path);
  EXPECT_EQ(names, (Lines{"c/a.jsonl", "c/b.txt", "c/data_0001", "c/sub/z.txt.gz"}));
  auto one = list_corpus(fs, "c/b.txt");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->size(), 1u);
}

TEST(Corpus, EmptyAndMissingFolders) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.make_directories("empty").has_value());
  auto empty = list_corpus(fs, "empty");
  ASSERT_FALSE(empty.has_value());
  EXPECT_NE(empty.error().to_string().find("no text files in empty"), std::string::npos);
  EXPECT_FALSE(list_corpus(fs, "missing").has_value());
}

// Whatever the bytes, the reader ends, with lines or with an error that names the file.
RC_GTEST_PROP(LineReader, AnyBytes, (const std::string& content)) {
  for (const char* name : {"f.txt", "f.jsonl", "f.tsv"}) {
    MemoryFileSystem fs;
    fs.put(name, content);
    CorpusOptions options;
    options.invalid_utf8 = "replace";
    options.tsv_column = "1";
    auto lines = read_lines(fs, name, options);
    if (lines) {
      for (const auto& line : *lines) RC_ASSERT(!first_invalid_utf8(line));
    } else {
      RC_ASSERT(lines.error().to_string().find(name) != std::string::npos);
    }
  }
}

// Lines come back as they were written, whatever the chunking.
RC_GTEST_PROP(LineReader, RoundTrip, ()) {
  const auto lines =
      *rc::gen::container<Lines>(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')));
  std::string content;
  for (const auto& line : lines) content += line + "\n";
  RC_ASSERT(lines_of(content) == lines);
}

}  // namespace
}  // namespace headwater
