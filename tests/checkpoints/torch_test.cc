// PyTorch files: both forms against what PyTorch loads, the pickle's refusals, and the writer
// against the reader and PyTorch itself.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include "checkpoints/pickle.h"
#include "checkpoints/torch_writer.h"
#include "checkpoints/weights_formats.h"
#include "checkpoints/zip_directory.h"
#include "python_peer.h"
#include "weights_testing.h"

namespace headwater {
namespace {

std::string path_of(const std::string& name) { return golden_path("torch/" + name); }

std::unique_ptr<WeightsSource> open_golden(const std::string& name) {
  auto source = open_weights(local_files(), path_of(name));
  EXPECT_TRUE(source) << name << ": " << source.error().to_string();
  return source ? *std::move(source) : nullptr;
}

std::string torch_name(ElementType type) {
  const std::map<std::string_view, std::string> names = {
      {"f32", "torch.float32"},   {"f64", "torch.float64"}, {"f16", "torch.float16"},
      {"bf16", "torch.bfloat16"}, {"i64", "torch.int64"},   {"i32", "torch.int32"},
      {"u8", "torch.uint8"},      {"i8", "torch.int8"},     {"bool", "torch.bool"}};
  return names.at(element_name(type));
}

TEST(TorchFile, ReadsWhatPyTorchReads) {
  const Json expected = golden_json("torch/torch_expected.json");
  for (const auto& [name, tensors] : expected.items()) {
    const auto source = open_golden(name);
    ASSERT_TRUE(source);
    for (const auto& [tensor, value] : tensors.items()) {
      if (tensor == "_tied") continue;
      const auto index = source->find(tensor);
      ASSERT_TRUE(index) << name << " " << tensor;
      const WeightEntry& entry = source->entries()[*index];
      EXPECT_EQ(entry.shape, value["shape"].get<Shape>());
      EXPECT_EQ(torch_name(entry.type), value["dtype"].get<std::string>());
      const auto bytes = source->read_bytes(*index);
      ASSERT_TRUE(bytes) << bytes.error().to_string();
      EXPECT_EQ(text_of(bytes->bytes()), decode_base64(value["bytes_b64"].get<std::string>()))
          << name << " " << tensor;
    }
  }
}

TEST(TorchFile, TiedWeightsAreToldAndDictionariesFlattened) {
  for (const char* name : {"pytorch_model.bin", "legacy_model.bin", "plain_dict.bin"}) {
    const auto source = open_golden(name);
    const WeightEntry& head = source->entries()[*source->find("generator_lm_head.weight")];
    EXPECT_EQ(head.tied_to, "electra.embeddings.word_embeddings.weight") << name;
  }
  const auto training = open_golden("training_ckpt.bin");
  EXPECT_TRUE(training->find("model.dt.bf16"));
  const auto& facts = training->metadata();
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::find(facts.begin(), facts.end(), std::pair(key, value)) != facts.end();
  };
  EXPECT_TRUE(has("step", "1500000"));
  EXPECT_TRUE(has("lr", "0.0002"));
  EXPECT_TRUE(has("name", "electra"));
  EXPECT_TRUE(has("ok", "true"));
  EXPECT_TRUE(has("t.1", "2"));
}

TEST(TorchFile, ReadsTheSmallestFile) {
  const auto source = open_golden("handmade_minimal.bin");
  const auto ids = source->read(*source->find("a.ids"));
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->as<int64_t>()[299], 299);
  EXPECT_EQ(source->read(*source->find("scalar"))->as<float>()[0], 2.5f);
}

TEST(TorchFile, ShardedFilesAreOne) {
  const auto whole = open_golden("model.safetensors");
  const auto sharded = open_golden("sharded");
  EXPECT_EQ(sharded->format(), "safetensors in 2 files");
  ASSERT_EQ(sharded->entries().size(), whole->entries().size());
  for (size_t i = 0; i < whole->entries().size(); ++i) {
    const auto index = sharded->find(whole->entries()[i].name);
    ASSERT_TRUE(index);
    EXPECT_EQ(text_of(sharded->read_bytes(*index)->bytes()),
              text_of(whole->read_bytes(i)->bytes()));
  }
}

// --- the pickle ---

std::string pickle_error(const std::string& pickle) {
  ByteCursor in(as_bytes(pickle));
  const auto read = read_pickle(in);
  return read ? "no error" : read.error().to_string();
}

TEST(Pickle, ForeignGlobalsAreNamedAndNothingIsRun) {
  // os.system("true"), as an attack would write it.
  const std::string reduce =
      "\x80\x02"
      "cos\nsystem\nX\x04\0\0\0true\x85R.";
  EXPECT_NE(pickle_error(reduce).find("asks for os.system at byte 2, which is refused"),
            std::string::npos)
      << pickle_error(reduce);
  EXPECT_NE(pickle_error("\x80\x04\x8c\x08"
                         "builtins\x8c\x04"
                         "eval\x93.")
                .find("builtins.eval"),
            std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02"
                         "cargparse\nNamespace\n)\x81.")
                .find("argparse.Namespace"),
            std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02"
                         "ctorch\nload\n.")
                .find("torch.load"),
            std::string::npos);
}

TEST(Pickle, DamageIsToldWithItsByte) {
  EXPECT_NE(pickle_error("\x80\x02").find("at byte 2"), std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02R.").find("the stack is empty"), std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02t.").find("no mark"), std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02h\x05.").find("did not store"), std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02X\xff\xff\xff\x7f").find("is cut"), std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02i").find("0x69"), std::string::npos);
  EXPECT_NE(pickle_error("\x80\x02}(K\x01u.").find("a key has no value"), std::string::npos);
}

// What precedes the pickled object in a file of the old form.
const std::string kOldHead =
    "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";
const std::string kNoStorages = "\x80\x02].";

TEST(Pickle, AListThatHoldsItselfEnds) {
  MemoryFileSystem fs;
  fs.put("self", kOldHead + std::string("\x80\x02]q\0h\0a.", 9) + kNoStorages);
  const std::string error = error_text(fs, "self");
  EXPECT_NE(error.find("nested too deep, or in itself"), std::string::npos) << error;
}

// Thirty lists, each of which holds the one before it twice.
TEST(Pickle, ListsThatMultiplyEnd) {
  std::string program("\x80\x02]q\0", 5);
  for (char i = 0; i < 30; ++i) {
    const char next = static_cast<char>(i + 1);
    for (const char c : {'0', ']', 'q', next, '(', 'h', i, 'h', i, 'e'}) program += c;
  }
  MemoryFileSystem fs;
  fs.put("bomb", kOldHead + program + "." + kNoStorages);
  const std::string error = error_text(fs, "bomb");
  EXPECT_NE(error.find("nested too deep, or in itself"), std::string::npos) << error;
}

// --- the archive ---

TEST(ZipDirectory, CompressedEntriesAreRefused) {
  std::string file = file_text(path_of("handmade_minimal.bin"));
  const size_t central = file.find("PK\x01\x02");
  ASSERT_NE(central, std::string::npos);
  file[central + 10] = 8;  // deflate
  MemoryFileSystem fs;
  fs.put("m.bin", file);
  EXPECT_NE(error_text(fs, "m.bin").find("it is compressed"), std::string::npos)
      << error_text(fs, "m.bin");
}

TEST(ZipDirectory, OtherArchivesAndCutOnesAreTold) {
  MemoryFileSystem fs;
  const std::string file = file_text(path_of("handmade_minimal.bin"));
  fs.put("cut.bin", file.substr(0, file.size() - 30));
  EXPECT_NE(error_text(fs, "cut.bin").find("more are missing"), std::string::npos);
  // A local header alone, in front of an empty directory.
  fs.put("empty.zip",
         std::string("PK\x03\x04") + std::string("PK\x05\x06", 4) + std::string(18, '\0'));
  EXPECT_NE(error_text(fs, "empty.zip").find("not one of torch.save"), std::string::npos)
      << error_text(fs, "empty.zip");
  fs.put("other.pkl", std::string("\x80\x02}.", 4));
  EXPECT_NE(error_text(fs, "other.pkl").find("not one of torch.save"), std::string::npos);
}

TEST(TorchFile, DamagedBytesFailTheirChecksum) {
  std::string file = file_text(path_of("handmade_minimal.bin"));
  const std::string six("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12);  // 0, 1, 2
  const size_t at = file.find(six);
  ASSERT_NE(at, std::string::npos);
  file[at + 4] = 1;
  MemoryFileSystem fs;
  fs.put("m.bin", file);
  const std::string error = error_text(fs, "m.bin");
  EXPECT_NE(error.find("tensor 'a.weight'"), std::string::npos) << error;
  EXPECT_NE(error.find("CRC-32"), std::string::npos) << error;
}

// --- the writer ---

// Writes what a source holds, ties included.
void write_again(const WeightsSource& source, FileSystem& fs, const std::string& path) {
  auto writer = TorchWriter::create(fs, path);
  ASSERT_TRUE(writer);
  for (size_t i = 0; i < source.entries().size(); ++i) {
    const WeightEntry& entry = source.entries()[i];
    if (!entry.tied_to.empty()) {
      ASSERT_TRUE(writer->add_tied(entry.name, entry.tied_to));
      continue;
    }
    const auto bytes = source.read_bytes(i);
    ASSERT_TRUE(bytes);
    ASSERT_TRUE(writer->add(entry.name, entry.type, entry.shape, bytes->bytes()));
  }
  ASSERT_TRUE(writer->commit());
}

TEST(TorchWriter, RoundTripsAndAligns) {
  MemoryFileSystem fs;
  write_again(*open_golden("pytorch_model.bin"), fs, "again.bin");
  EXPECT_EQ(*read_contents(fs, "again.bin"),
            *read_contents(local_files(), path_of("pytorch_model.bin")));
  const auto again = open_weights(fs, "again.bin");
  const auto head = (*again)->find("generator_lm_head.weight");
  EXPECT_EQ((*again)->entries()[*head].tied_to, "electra.embeddings.word_embeddings.weight");

  const std::string file = *read_file(fs, "again.bin");
  const auto directory = read_zip_directory(as_bytes(file));
  ASSERT_TRUE(directory);
  for (const auto& [name, entry] : *directory) {
    const auto offset = entry.bytes.data() - reinterpret_cast<const uint8_t*>(file.data());
    EXPECT_EQ(offset % 64, 0) << name;
  }
}

RC_GTEST_PROP(TorchWriter, AnyTensorsComeBack, ()) {
  MemoryFileSystem fs;
  auto writer = TorchWriter::create(fs, "m.bin");
  Contents expected;
  const auto count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    const auto type = *rc::gen::element(ElementType::kF32, ElementType::kBF16, ElementType::kI64,
                                        ElementType::kBool, ElementType::kI8);
    const Shape shape =
        *rc::gen::resize(3, rc::gen::container<Shape>(rc::gen::inRange<int64_t>(0, 4)));
    const auto size = static_cast<size_t>(element_count(shape) * element_bytes(type));
    const auto bytes = *rc::gen::container<std::string>(size, rc::gen::arbitrary<char>());
    const std::string name = fmt::format("{}.{}", *rc::gen::string<std::string>(), i);
    RC_ASSERT(writer->add(name, type, shape, as_bytes(bytes)).has_value());
    expected[name] = fmt::format("{} {} {}", element_name(type), shape_text(shape), bytes);
  }
  RC_ASSERT(writer->commit().has_value());
  const auto contents = read_contents(fs, "m.bin");
  RC_ASSERT(contents.has_value());
  RC_ASSERT(*contents == expected);
}

TEST(TorchWriter, PyTorchReadsIt) {
  if (!python_has("torch")) GTEST_SKIP() << "PyTorch is not installed (HW_PYTHON)";
  const std::string path = testing::TempDir() + fmt::format("hw_torch_{}.bin", ::getpid());
  write_again(*open_golden("pytorch_model.bin"), local_files(), path);
  const auto [status, output] =
      run_command(python() + " " + quoted(std::string(HW_TESTS_DIR) + "/compat/torch_check.py") +
                  " " + quoted(path) + " " + quoted(path_of("pytorch_model.bin")));
  std::filesystem::remove(path);
  EXPECT_EQ(status, 0) << output;
}

}  // namespace
}  // namespace headwater
