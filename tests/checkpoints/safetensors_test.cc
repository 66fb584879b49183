// safetensors: golden files and bug-report cases, the format's rejections and tolerances, round
// trips over random tensors, and mutated files that may be refused but never do harm.
#include "checkpoints/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/threefry.h"
#include "byte_streams.h"
#include "checkpoints/safetensors_header.h"
#include "python_peer.h"

namespace headwater {
namespace {

Result<TensorMap> read_text(std::string text, size_t piece = 1 << 20) {
  const auto size = static_cast<int64_t>(text.size());
  HW_ASSIGN_OR_RETURN(
      auto reader, SafetensorsReader::open(std::make_unique<StringSource>(std::move(text), piece),
                                           size, "m.st"));
  TensorMap map;
  for (size_t i = 0; i < reader.entries().size(); ++i) {
    HW_ASSIGN_OR_RETURN(Tensor tensor, reader.read(i));
    map.emplace(reader.entries()[i].name, std::move(tensor));
  }
  HW_RETURN_IF_ERROR(reader.finish());
  return map;
}

std::string with_header(const std::string& json, const std::string& data) {
  std::string out;
  for (uint64_t n = json.size(), i = 0; i < 8; ++i, n >>= 8) out += static_cast<char>(n & 0xff);
  return out + json + data;
}

std::string error_of(const std::string& json, const std::string& data) {
  const auto read = read_text(with_header(json, data));
  return read ? "accepted" : read.error().to_string();
}

std::string golden(const std::string& name) {
  return file_text(std::string(HW_TESTS_DIR) + "/golden/safetensors/" + name);
}

std::string write_text(std::vector<TensorView> tensors) {
  StringSink sink;
  const auto written = write_safetensors(sink, std::move(tensors));
  EXPECT_TRUE(written) << written.error().to_string();
  return sink.text;
}

TEST(Safetensors, ReadsAPlainFile) {
  const auto map = read_text(golden("st_ok.safetensors"));
  ASSERT_TRUE(map) << map.error().to_string();
  ASSERT_EQ(map->size(), 1u);
  EXPECT_EQ(map->begin()->second.dtype(), DType::kF32);
}

TEST(Safetensors, CopiesMisalignedData) {  // B068
  const auto map = read_text(golden("st_misaligned_header.safetensors"));
  ASSERT_TRUE(map) << map.error().to_string();
  const Tensor& w = map->at("w");
  EXPECT_EQ(w.shape(), (Shape{2, 2}));
  EXPECT_EQ(std::vector<float>(w.as<float>().begin(), w.as<float>().end()),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data()) % 64, 0u);
}

TEST(Safetensors, SaysWhatAForeignFileLooksLike) {  // B070
  const auto zip = read_text(golden("st_is_a_zip.safetensors"));
  ASSERT_FALSE(zip);
  EXPECT_EQ(zip.error().code, Code::kInvalidArgument);
  EXPECT_EQ(zip.error().to_string(),
            "m.st: not a safetensors file: it looks like a zip archive, as torch.save writes "
            "(PyTorch); save it again as safetensors, or name the right file");

  const auto lfs =
      read_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 443\n");
  ASSERT_FALSE(lfs);
  EXPECT_NE(lfs.error().to_string().find("Git LFS pointer"), std::string::npos);
  EXPECT_NE(lfs.error().to_string().find("git lfs pull"), std::string::npos);

  const std::vector<std::pair<std::string, std::string>> others = {
      {std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9", 9), "pickle"},
      {"\x89HDF\r\n\x1a\n........", "HDF5"},
      {"<!DOCTYPE html><html>", "web page"},
      {"{\"metadata\": {\"total_size\": 1}}", "JSON"},
      {std::string(64, '\0'), "zero bytes"},
      {"\x1f\x8b\x08", "gzip"},
      {"GGUF\x03\xff\xff\xff\xff\xff", "GGUF"},
      {std::string(40, '\xee'), "cut or damaged"},
  };
  for (const auto& [bytes, expected] : others) {
    const auto read = read_text(bytes);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().to_string().find(expected), std::string::npos)
        << read.error().to_string();
  }
  EXPECT_NE(read_text("").error().to_string().find("empty"), std::string::npos);
}

TEST(Safetensors, NamesExpectedAndFoundSizeOfACutFile) {  // B072
  const auto cut = read_text(golden("st_truncated.safetensors"));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::kDataLoss);
  EXPECT_EQ(cut.error().to_string(),
            "m.st: the file should have 88 bytes, it has 82: 6 bytes are missing; copy or download "
            "it again");
}

TEST(Safetensors, RefusesEveryCutOfAFile) {
  const std::string whole = golden("st_ok.safetensors");
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(read_text(whole.substr(0, n))) << n;
  EXPECT_FALSE(read_text(whole + '\0'));
}

TEST(Safetensors, RefusesWhatTheFormatForbids) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const auto b = [](int begin, int end, int n) {
    return fmt::format(R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", n, begin,
                       end);
  };
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"{" + a + "," + b(3, 4, 1) + "}", "....", "leaves a hole after byte 2"},
      {"{" + b(1, 3, 2) + "}", "...", "leaves a hole after byte 0"},
      {"{" + a + "," + b(1, 3, 2) + "}", "...", "inside the tensor that ends at byte 2"},
      {"{" + a + "}", "...", "1 bytes too many"},
      {"{" + a + "}", ".", "1 bytes are missing"},
      {"{" + a + "," + b(2, 5, 2) + "}", ".....", "takes 2 bytes, its data_offsets hold 3"},
      {R"({"a":{"dtype":"Q7","shape":[2],"data_offsets":[0,2]}})", "..",
       "unknown element type 'Q7'"},
      {R"({"a":{"dtype":"U8","shape":[2]}})", "..", "must have dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0]}})", "..", "two numbers"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "..", "before it starts"},
      {R"({"a":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})", "..", "a negative number"},
      {R"({"a":{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}})", "..", "a fraction"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,2]}})", "..",
       "beyond 63 bits"},
      {R"({"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,2]}})", "..",
       "too large"},
      {R"({"__metadata__":{"n":1},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "..",
       "a number is not allowed in its header, at '__metadata__', 'n'"},
      {R"({"__metadata__":"x"})", "", "a string is not allowed"},
      {R"({"a":[]})", "", "an array is not allowed"},
      {R"({"a":{"dtype":"U8","shape":[[2]],"data_offsets":[0,2]}})", "..", "an array"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"x":1}})", "..", "an unknown key"},
      {R"({"a":{"dtype":)", "", "not valid JSON at byte"},
      {"[]", "", "no JSON object"},
  };
  for (const auto& [json, data, expected] : cases) {
    EXPECT_NE(error_of(json, data).find(expected), std::string::npos)
        << json << "\n  gave: " << error_of(json, data);
  }
  std::string long_shape = R"({"a":{"dtype":"U8","shape":[1)";
  for (int i = 0; i < 100; ++i) long_shape += ",1";
  EXPECT_NE(error_of(long_shape + R"(],"data_offsets":[0,1]}})", ".").find("101 dimensions"),
            std::string::npos);
}

TEST(Safetensors, RefusesAHeaderOverTheLimit) {
  std::string prefix;
  for (uint64_t n = kMaxSafetensorsHeader + 1, i = 0; i < 8; ++i, n >>= 8)
    prefix += static_cast<char>(n & 0xff);
  auto reader = SafetensorsReader::open(std::make_unique<StringSource>(prefix + "{"),
                                        int64_t{1} << 40, "m.st");
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message.find("100000001 bytes"), std::string::npos);
}

TEST(Safetensors, AcceptsWhatOtherReadersAccept) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"( {"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   )", ".."},
      {R"({"b":{"data_offsets":[1,3],"shape":[1],"dtype":"I16"},)"
       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "..."},
      {R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "...."},
      {R"({"e":{"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[0,0]}})", ""},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       ".."},
      {"{}", ""},
  };
  for (const auto& [json, data] : cases) {
    const std::string text = with_header(json, data);
    EXPECT_TRUE(SafetensorsReader::open(std::make_unique<StringSource>(text),
                                        static_cast<int64_t>(text.size()), "m.st"))
        << json;
  }
}

TEST(Safetensors, AnElementTypeWithoutUseIsAnErrorOnlyWhenRead) {
  const std::string json = R"({"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]},)"
                           R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";
  const std::string text = with_header(json, "..x");
  auto reader = SafetensorsReader::open(std::make_unique<StringSource>(text),
                                        static_cast<int64_t>(text.size()), "m.st");
  ASSERT_TRUE(reader);
  const auto a = reader->read(0);
  ASSERT_FALSE(a);
  EXPECT_NE(a.error().to_string().find("'a' has element type I16"), std::string::npos);
  const auto b = reader->read(1);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->data()[0], 'x');
}

TEST(Safetensors, ReportsAFileThatShrinksWhileRead) {
  const std::string text = golden("st_ok.safetensors");
  auto reader =
      SafetensorsReader::open(std::make_unique<StringSource>(text.substr(0, text.size() - 3)),
                              static_cast<int64_t>(text.size()), "m.st");
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->read(0));
  EXPECT_FALSE(reader->finish());
}

TEST(Safetensors, WritesTheBytesOfTheReferenceLibrary) {
  const Tensor bias = Tensor::f32({2}, std::vector<float>{1, 2});
  Tensor step(DType::kI64, {});
  step.as<int64_t>()[0] = 7;
  Tensor half(DType::kBF16, {1});
  const std::string text = write_text({TensorView::of("z", bias), TensorView::of("h", half),
                                       TensorView::of("a", bias), TensorView::of("n", step)});
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("z":{"dtype":"F32","shape":[2],"data_offsets":[16,24]},)"
      R"("h":{"dtype":"BF16","shape":[1],"data_offsets":[24,26]}})";
  const std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  ASSERT_EQ(text.substr(0, 8 + padded.size()), with_header(padded, ""));
  EXPECT_EQ(text.size(), 8 + padded.size() + 26);
}

TEST(Safetensors, RefusesANameTwiceAndAWrongSize) {
  const Tensor one = Tensor::scalar(1);
  StringSink sink;
  const auto twice = write_safetensors(sink, {TensorView::of("a", one), TensorView::of("a", one)});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("'a' would be written twice"), std::string::npos);
  TensorView bad = TensorView::of("a", one);
  bad.shape = {2};
  EXPECT_FALSE(write_safetensors(sink, {bad}));
  EXPECT_FALSE(write_safetensors(sink, {TensorView::of("__metadata__", one)}));
  EXPECT_TRUE(sink.text.empty());
}

Tensor random_tensor(RandomStream& random) {
  static constexpr DType kAll[] = {DType::kF32,  DType::kI32, DType::kU32,
                                   DType::kPred, DType::kI64, DType::kBF16,
                                   DType::kF16,  DType::kF64, DType::kU8};
  Shape shape;
  for (uint64_t rank = random.below(4); rank > 0; --rank)
    shape.push_back(static_cast<int64_t>(random.below(4)));
  Tensor tensor(kAll[random.below(9)], shape);
  for (int64_t i = 0; i < tensor.byte_size(); ++i)
    tensor.data()[i] = static_cast<uint8_t>(random.below(256));
  return tensor;
}

std::vector<NamedTensor> random_tensors(uint64_t seed) {
  RandomStream random(Key::from_seed(seed));
  std::set<std::string> names;
  for (uint64_t n = random.below(8); n > 0; --n) {
    static constexpr std::string_view kPieces[] = {"a", "층", "\"", "\\", ".weight", "\n", "z"};
    std::string name;
    for (uint64_t k = random.below(5); k > 0; --k) name += kPieces[random.below(7)];
    names.insert(name);
  }
  std::vector<NamedTensor> tensors;
  for (const std::string& name : names) tensors.push_back({name, random_tensor(random)});
  return tensors;
}

RC_GTEST_PROP(SafetensorsProperty, RoundTripsAlignedAndSorted, (uint64_t seed)) {
  const std::vector<NamedTensor> tensors = random_tensors(seed);
  const std::string text = write_text(tensor_views(tensors));
  const auto piece = static_cast<size_t>(*rc::gen::inRange(1, 64));
  const auto back = read_text(text, piece);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& read = back->at(name);
    RC_ASSERT(read.dtype() == tensor.dtype() && read.shape() == tensor.shape());
    RC_ASSERT(std::equal(read.bytes().begin(), read.bytes().end(), tensor.bytes().begin()));
  }
  const auto reader = SafetensorsReader::open(std::make_unique<StringSource>(text),
                                              static_cast<int64_t>(text.size()), "m.st");
  int64_t data = 0;
  for (const TensorEntry& entry : reader->entries()) {
    data = std::max(data, entry.end);
    RC_ASSERT(entry.begin % dtype_size(*entry.dtype) == 0);
  }
  RC_ASSERT((static_cast<int64_t>(text.size()) - data) % 8 == 0);
}

TEST(SafetensorsCompat, TheReferenceLibraryWritesTheSameBytes) {
  if (!python_has("safetensors")) GTEST_SKIP() << "no Python with safetensors (set HW_PYTHON)";
  const std::string folder = testing::TempDir();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::string ours = folder + "hw_ours.safetensors",
                      theirs = folder + "hw_theirs.safetensors";
    const std::string text = write_text(tensor_views(random_tensors(seed)));
    ASSERT_TRUE(write_file_atomic(local_files(), ours, text));
    const auto [status, output] =
        run_command(python() + " " + quoted(HW_TESTS_DIR "/compat/safetensors_check.py") + " " +
                    quoted(ours) + " " + quoted(theirs));
    ASSERT_EQ(status, 0) << output;
    EXPECT_EQ(file_text(theirs), text) << seed;
  }
}

TEST(SafetensorsFuzz, MutatedFilesAreReadOrRefused) {
  RandomStream random(Key::from_seed(20));
  static constexpr std::string_view kTokens[] = {"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "\"",
                                                 "0",
                                                 "-1",
                                                 "1e9",
                                                 "null",
                                                 "true",
                                                 "\\u0000",
                                                 "\xff",
                                                 "9223372036854775807",
                                                 "\"shape\"",
                                                 "\"__metadata__\"",
                                                 "F64",
                                                 "BOOL",
                                                 "\"a\""};
  int64_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = write_text(tensor_views(random_tensors(static_cast<uint64_t>(round) % 40)));
    for (uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const size_t at = random.below(text.size());
      switch (random.below(5)) {
        case 0: text[at] = static_cast<char>(random.below(256)); break;
        case 1: text[at] = static_cast<char>(text[at] ^ (1 << random.below(8))); break;
        case 2: text.resize(at + 1); break;
        case 3: text.erase(at, std::min<size_t>(1 + random.below(4), text.size() - 1)); break;
        default: text.insert(at, kTokens[random.below(std::size(kTokens))]); break;
      }
      if (random.below(2) == 0 && text.size() >= 8) {  // keep the length plausible
        const size_t closing = text.rfind('}');
        const uint64_t n = closing == std::string::npos || closing < 8 ? 0 : closing - 7;
        for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(n >> (8 * i) & 0xff);
      }
    }
    const auto read = read_text(text, 1 + random.below(100));
    if (read) {
      ++accepted;
      continue;
    }
    EXPECT_FALSE(read.error().message.empty());
    EXPECT_LT(read.error().to_string().size(), 2000u);
  }
  EXPECT_GT(accepted, 0);  // changes in the data alone leave a good file
}

}  // namespace
}  // namespace headwater
