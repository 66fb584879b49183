// TensorFlow checkpoints: every golden file against what TensorFlow reads from it, the damaged ones
// against TensorFlow's answers, the state file, and the writer against TensorFlow's own bytes.
#include "checkpoints/tf_bundle.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include "checkpoints/snappy.h"
#include "checkpoints/tf_bundle_writer.h"
#include "checkpoints/tf_slices.h"
#include "checkpoints/tf_state.h"
#include "checkpoints/tf_table.h"
#include "io/fault_files.h"
#include "python_peer.h"
#include "weights_testing.h"

namespace headwater {
namespace {

constexpr const char* kFolder = "tf_checkpoint";
std::string prefix(const std::string& name) { return golden_path(kFolder) + "/" + name; }

std::unique_ptr<WeightsSource> open_golden(const std::string& name) {
  auto source = open_weights(local_files(), prefix(name));
  EXPECT_TRUE(source) << name << ": " << source.error().to_string();
  return source ? *std::move(source) : nullptr;
}

// One tensor against TensorFlow's view of it.
void expect_tensor(const WeightsSource& source, const std::string& name, const Json& expected) {
  const auto index = source.find(name);
  ASSERT_TRUE(index) << name;
  const WeightEntry& entry = source.entries()[*index];
  EXPECT_EQ(tf_dtype(entry.type), expected["dtype_enum"].get<int32_t>()) << name;
  EXPECT_EQ(entry.shape, expected["shape"].get<Shape>()) << name;
  const auto bytes = source.read_bytes(*index);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  const Json& value = expected["value"];
  if (entry.type != ElementType::kString) {
    EXPECT_EQ(text_of(bytes->bytes()), decode_base64(value["raw_le_b64"].get<std::string>()))
        << name;
    return;
  }
  const auto texts = decode_tf_texts(bytes->bytes(), entry.elements());
  ASSERT_TRUE(texts) << texts.error().to_string();
  if (value.contains("len")) {
    EXPECT_EQ(texts->texts.at(0).size(), value["len"].get<size_t>());
    return;
  }
  const Json list = value.is_array() ? value : Json::array({value["b64"]});
  ASSERT_EQ(texts->texts.size(), list.size());
  for (size_t i = 0; i < list.size(); ++i)
    EXPECT_EQ(texts->texts[i], decode_base64(list[i].get<std::string>())) << name;
}

TEST(TfBundle, ReadsWhatTensorFlowReads) {
  const Json expected = golden_json("tf_checkpoint/checkpoints_expected.json");
  for (const auto& [name, tensors] : expected.items()) {
    if (name == "manykeys.ckpt" || name == "tf2_keras/weights_v1") continue;
    const auto source = open_golden(name);
    ASSERT_TRUE(source);
    EXPECT_EQ(source->entries().size(), tensors.size()) << name;
    EXPECT_EQ(source->format(), "TensorFlow checkpoint");
    for (const auto& [tensor, value] : tensors.items()) expect_tensor(*source, tensor, value);
  }
}

TEST(TfBundle, ReadsPlainSnappyAndSmallBlocks) {
  const Json expected = golden_json("tf_checkpoint/checkpoints_expected.json")["manykeys.ckpt"];
  for (const char* name : {"manykeys.ckpt", "manykeys_snappy.ckpt", "manykeys_4kblocks.ckpt"}) {
    const auto source = open_golden(name);
    ASSERT_TRUE(source);
    ASSERT_EQ(source->entries().size(), expected.size());
    for (size_t i = 0; i < source->entries().size(); ++i) {
      const auto tensor = source->read(i);
      ASSERT_TRUE(tensor) << tensor.error().to_string();
      EXPECT_EQ(tensor->as<float>()[0], expected[source->entries()[i].name].get<float>());
    }
  }
}

TEST(TfBundle, TellsSlotsAndVariables) {
  const auto tf1 = open_golden("tf1/model.ckpt-3");
  std::map<WeightRole, int> roles;
  for (const WeightEntry& entry : tf1->entries()) ++roles[entry.role];
  EXPECT_EQ(roles[WeightRole::kSlot], 8);
  EXPECT_EQ(roles[WeightRole::kBookkeeping], 3);  // global_step and two powers

  const auto tf2 = open_golden("tf2_keras/ckpt");
  const auto kernel = tf2->find("dense_a/kernel");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(tf2->entries()[*kernel].name,
            "model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE");
  EXPECT_EQ(tf2->entries()[*kernel].role, WeightRole::kParameter);
  EXPECT_EQ(tf2->entries()[*tf2->find("Adam/m/dense_a/kernel")].role, WeightRole::kSlot);
}

TEST(TfBundle, DamagedFilesGetTensorFlowsAnswers) {
  for (const char* name : {"good", "noversion", "noheader", "gap"}) {
    const auto source = open_golden(std::string("bad/") + name);
    ASSERT_TRUE(source);
    const auto tensor = source->read(*source->find("a"));
    ASSERT_TRUE(tensor) << name << tensor.error().to_string();
    EXPECT_EQ(tensor->as<float>()[5], 5.0f) << name;
  }
  const std::map<std::string, std::string> errors = {
      {"badcrc", "data-00000-of-00001 is damaged between its bytes 0 and 24: the checksum is"},
      {"nocrc", "the index says 00000000"},
      {"shortdata", "has only 20"},
      {"sizemismatch", "24 bytes, its shape and type take 32"},
      {"badindexcrc", "index block at byte 0 is damaged"},
      {"truncindex", "its last 8 bytes are not those of an index"},
      {"badmagic", "its last 8 bytes are not those of an index"},
  };
  for (const auto& [name, text] : errors) {
    const std::string error = error_text(local_files(), prefix("bad/" + name));
    EXPECT_NE(error.find(text), std::string::npos) << name << ": " << error;
    EXPECT_NE(error.find("bad/" + name), std::string::npos) << error;
  }
}

TEST(TfBundle, SwapsTheBytesOfBigEndianFiles) {
  const auto source = open_golden("bad/bigendian");
  ASSERT_TRUE(source);
  const auto swapped = source->read_bytes(*source->find("a"));
  ASSERT_TRUE(swapped);
  const std::string data = file_text(prefix("bad/bigendian.data-00000-of-00001"));
  for (size_t i = 0; i < data.size(); ++i)
    EXPECT_EQ(text_of(swapped->bytes())[i], data[i / 4 * 4 + 3 - i % 4]);
}

TEST(TfBundle, MissingFilesAreNamed) {
  MemoryFileSystem fs;
  put_all(fs, golden_files(kFolder, "sharded"));
  ASSERT_TRUE(fs.remove("sharded.ckpt.data-00001-of-00002"));
  EXPECT_NE(error_text(fs, "sharded.ckpt").find("sharded.ckpt.data-00001-of-00002"),
            std::string::npos);
  ASSERT_TRUE(fs.remove("sharded.ckpt.index"));
  EXPECT_NE(error_text(fs, "sharded.ckpt").find("interrupted"), std::string::npos);
}

TEST(TfBundle, PointerFilesAndPagesAreRecognised) {
  MemoryFileSystem fs;
  put_all(fs, golden_files(kFolder, "dtypes"));
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
  fs.put("dtypes.ckpt.data-00000-of-00001", pointer);
  EXPECT_NE(error_text(fs, "dtypes.ckpt").find("git lfs pull"), std::string::npos);
  fs.put("dtypes.ckpt.index", "<!DOCTYPE html><html></html>");
  EXPECT_NE(error_text(fs, "dtypes.ckpt").find("is a web page"), std::string::npos);
  fs.put("dtypes.ckpt.index", "");
  EXPECT_NE(error_text(fs, "dtypes.ckpt").find("is empty"), std::string::npos);
}

TEST(TfSlices, KeysAreTensorFlows) {
  const TfExtent rows[] = {{0, 2}, {0, 4}};
  EXPECT_EQ(tf_slice_key("part/emb", rows), std::string("\0part/emb\0\1\1\2\x80\x82\x80\x84", 17));
  // Longer numbers, as TensorFlow's ordered code has them.
  const TfExtent large[] = {{64, -1}, {8192, 1 << 20}};
  EXPECT_EQ(tf_slice_key("x", large),
            std::string("\0x\0\1\1\2\xc0\x40\x7f\xe0\x20\x00\xf0\x10\x00\x00", 16));
}

Result<> cover(std::initializer_list<std::array<int64_t, 4>> slices, Shape shape) {
  std::vector<TfSlice> list;
  for (const auto& s : slices) list.push_back({{}, {s[0], s[1]}, {s[2], s[3]}});
  return check_cover(list, shape);
}

TEST(TfSlices, HolesAndOverlapsAreErrors) {
  EXPECT_TRUE(cover({{0, 0, 2, 4}, {2, 0, 3, 4}}, {5, 4}));
  EXPECT_TRUE(cover({{0, 0, 5, 1}, {0, 1, 5, 3}}, {5, 4}));
  EXPECT_NE(cover({{0, 0, 2, 4}, {3, 0, 2, 4}}, {5, 4}).error().message.find("hole"),
            std::string::npos);
  EXPECT_NE(cover({{0, 0, 3, 4}, {2, 0, 2, 4}}, {5, 4}).error().message.find("overlap"),
            std::string::npos);
}

RC_GTEST_PROP(TfSlices, PartsMakeTheWhole, ()) {
  const Shape shape = {*rc::gen::inRange(1, 6), *rc::gen::inRange(1, 6), *rc::gen::inRange(1, 4)};
  const auto dimension = *rc::gen::inRange<size_t>(0, 3);
  const int64_t cut = *rc::gen::inRange<int64_t>(0, shape[dimension] + 1);
  std::string whole(static_cast<size_t>(element_count(shape)) * 2, '\0');
  for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<char>(i);
  std::string built(whole.size(), '\xee');
  for (const bool second : {false, true}) {
    TfSlice slice{{}, {0, 0, 0}, shape};
    slice.start[dimension] = second ? cut : 0;
    slice.length[dimension] = second ? shape[dimension] - cut : cut;
    std::string part;
    for (int64_t i = 0; i < element_count(shape); ++i) {
      const int64_t position[] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
      const bool later = position[dimension] >= cut;
      if (later == second) part += whole.substr(static_cast<size_t>(i) * 2, 2);
    }
    copy_slice({reinterpret_cast<const uint8_t*>(part.data()), part.size()}, slice, shape, 2,
               reinterpret_cast<uint8_t*>(built.data()));
  }
  RC_ASSERT(built == whole);
}

// --- the table ---

using Pairs = std::map<std::string, std::string>;

Result<Pairs> read_table(const std::string& file) {
  Pairs pairs;
  HW_RETURN_IF_ERROR(
      read_sorted_table({reinterpret_cast<const uint8_t*>(file.data()), file.size()},
                        [&](std::string_view key, std::string_view value) -> Result<> {
                          pairs.emplace(key, value);
                          return {};
                        }));
  return pairs;
}

RC_GTEST_PROP(SortedTable, RoundTrips, (const Pairs& pairs, bool large)) {
  Pairs all = pairs;
  if (large) {  // several blocks
    for (int i = 0; i < 40; ++i) all[fmt::format("large/{:03d}", i)] = std::string(10000, 'x');
  }
  SortedTableBuilder builder;
  for (const auto& [key, value] : all) builder.add(key, value);
  const auto read = read_table(std::move(builder).finish());
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == all);
}

TEST(Snappy, DecompressesLiteralsAndOverlappingCopies) {
  const auto unpack = [](std::string_view text) {
    return snappy_decompress({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  // "ab", then 8 bytes from 2 back.
  EXPECT_EQ(text_of(*unpack(std::string_view("\x0a\x04"
                                             "ab\x11\x02",
                                             6))),
            "ababababab");
  EXPECT_FALSE(
      unpack(std::string_view("\x0a\x04"
                              "ab\x11\x03",
                              6)));  // before the start
  EXPECT_FALSE(
      unpack(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x04"
                              "ab",
                              12)));
  EXPECT_FALSE(unpack(""));
}

// --- the state file ---

TEST(TfState, IsRead) {
  const auto state = parse_tf_state(
      "model_checkpoint_path: \"model.ckpt-3\"\n# words\n"
      "all_model_checkpoint_paths: 'model.ckpt-2'\nlast_preserved_timestamp: 1.5\n",
      "checkpoint");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->latest, "model.ckpt-3");
  EXPECT_EQ(state->all, std::vector<std::string>{"model.ckpt-2"});
  EXPECT_EQ(parse_tf_state("model_checkpoint_path: \"\\355\\225\\234-1\"", "x")->latest, "한-1");
  EXPECT_FALSE(parse_tf_state("model_checkpoint_path: model", "x"));
  EXPECT_FALSE(parse_tf_state("words", "x"));
  EXPECT_FALSE(parse_tf_state("", "x"));
  EXPECT_EQ(parse_tf_state(format_tf_state("a\"b"), "x")->latest, "a\"b");
}

TEST(TfState, MovedDirectoriesAreFoundWithANote) {
  MemoryFileSystem fs;
  const auto files = golden_files(kFolder, "tf1/model.ckpt-3");
  for (const auto& [name, content] : files) {
    fs.put("here/" + base_name(name), content);
    std::string later = base_name(name);
    later.replace(later.find("-3"), 2, "-12");
    fs.put("here/" + later, content);
  }
  const auto open = [&](const std::string& state) {
    if (!state.empty()) fs.put("here/checkpoint", "model_checkpoint_path: \"" + state + "\"\n");
    return open_weights(fs, "here");
  };
  EXPECT_EQ((*open("model.ckpt-3"))->path(), "here/model.ckpt-3");
  EXPECT_TRUE((*open("model.ckpt-3"))->notes().empty());
  for (const char* lost : {"gs://bucket/run/model.ckpt-3", "/home/them/run/model.ckpt-3"}) {
    const auto source = open(lost);
    ASSERT_TRUE(source) << source.error().to_string();
    EXPECT_EQ((*source)->path(), "here/model.ckpt-3");
    ASSERT_EQ((*source)->notes().size(), 1u);
    EXPECT_NE((*source)->notes()[0].find(lost), std::string::npos);
  }
  // The file names nothing that is there: the highest step, said aloud.
  EXPECT_EQ((*open("model.ckpt-99"))->path(), "here/model.ckpt-12");
  EXPECT_EQ((*open("model.ckpt-99"))->notes().size(), 1u);
  ASSERT_TRUE(fs.remove("here/checkpoint"));
  EXPECT_EQ((*open(""))->path(), "here/model.ckpt-12");
}

TEST(TfState, TheBugReportsBucketIsGone) {
  const std::string error = error_text(local_files(), prefix("moved"));
  EXPECT_NE(error.find("moved/checkpoint names gs://"), std::string::npos) << error;
}

// --- the writer ---

// Reads a checkpoint and writes it again, tensors in the order of the data file: that of the names
// for tf.train.Saver, that of the call for a bare save operation.
void rewrite(const WeightsSource& source, FileSystem& fs, const std::string& to) {
  std::vector<WeightBytes> bytes;
  std::vector<size_t> order;
  for (size_t i = 0; i < source.entries().size(); ++i) {
    auto tensor = source.read_bytes(i);
    ASSERT_TRUE(tensor) << tensor.error().to_string();
    bytes.push_back(*std::move(tensor));
    order.push_back(i);
  }
  const auto place = [&](size_t i) {
    return std::pair(bytes[i].bytes().data(), bytes[i].bytes().size());
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  auto writer = TfBundleWriter::create(fs, to);
  ASSERT_TRUE(writer);
  for (const size_t i : order) {
    const WeightEntry& entry = source.entries()[i];
    ASSERT_TRUE(writer->add(entry.name, entry.type, entry.shape, bytes[i].bytes()));
  }
  ASSERT_TRUE(writer->commit());
}

void expect_same_bytes(const std::string& original) {
  MemoryFileSystem fs;
  const auto source = open_weights(local_files(), original);
  ASSERT_TRUE(source) << source.error().to_string();
  rewrite(**source, fs, "again");
  for (const char* suffix : {".index", ".data-00000-of-00001"})
    EXPECT_TRUE(*read_file(fs, std::string("again") + suffix) == file_text(original + suffix))
        << original << suffix;
}

TEST(TfBundleWriter, MakesTensorFlowsOwnBytes) {
  for (const char* name : {"dtypes.ckpt", "manykeys.ckpt"}) expect_same_bytes(prefix(name));
}

TEST(TfBundleWriter, MakesTheBytesOfATrainingCheckpoint) {
  const char* shared = std::getenv("HW_SHARED");
  const std::filesystem::path folder =
      shared != nullptr ? shared : std::string(HW_TESTS_DIR) + "/../../shared";
  const auto prefix = folder / "fixtures/models/tf1_electra_small/model.ckpt-3";
  if (!std::filesystem::exists(prefix.string() + ".index"))
    GTEST_SKIP() << "the shared folder of models is not there";
  expect_same_bytes(prefix.string());
}

TEST(TfBundleWriter, RefusesWhatCannotBeWritten) {
  MemoryFileSystem fs;
  auto writer = TfBundleWriter::create(fs, "m");
  ASSERT_TRUE(writer);
  const std::vector<uint8_t> bytes(8);
  const Shape two = {2}, four = {4};
  EXPECT_TRUE(writer->add("a", ElementType::kF32, two, bytes));
  EXPECT_FALSE(writer->add("a", ElementType::kF32, two, bytes));
  EXPECT_FALSE(writer->add("b", ElementType::kF32, four, bytes));
  EXPECT_FALSE(writer->add("", ElementType::kF32, two, bytes));
  EXPECT_FALSE(writer->add("c", ElementType::kF8E8M0, {}, bytes));
  EXPECT_FALSE(fs.exists("m.index"));
}

TEST(TfBundleWriter, AFaultLeavesNoIndexWithoutItsData) {
  MemoryFileSystem memory;
  FaultFileSystem faults(memory);
  const std::vector<uint8_t> bytes(8);
  const auto write = [&]() -> Result<> {
    HW_ASSIGN_OR_RETURN(auto writer, TfBundleWriter::create(faults, "m"));
    HW_RETURN_IF_ERROR(writer.add("a", ElementType::kI64, {}, bytes));
    HW_RETURN_IF_ERROR(writer.commit());
    return write_tf_state(faults, "m");
  };
  ASSERT_TRUE(write());
  const int64_t operations = faults.operations();
  for (int64_t nth = 1; nth <= operations; ++nth) {
    for (const auto& [path, content] : memory.files()) ASSERT_TRUE(memory.remove(path));
    faults.reset();
    faults.fail_at(nth);
    EXPECT_FALSE(write());
    EXPECT_TRUE(!memory.exists("m.index") || read_contents(memory, "m").has_value()) << nth;
  }
}

TEST(TfBundleWriter, TensorFlowReadsIt) {
  if (!python_has("tensorflow")) GTEST_SKIP() << "TensorFlow is not installed (HW_PYTHON)";
  const std::string folder = testing::TempDir() + fmt::format("hw_tf_bundle_{}", ::getpid());
  std::filesystem::create_directories(folder);
  rewrite(*open_golden("tf1/model.ckpt-3"), local_files(), folder + "/model.ckpt-3");
  ASSERT_TRUE(write_tf_state(local_files(), folder + "/model.ckpt-3"));
  const auto [status, output] = run_command(
      python() + " " + quoted(std::string(HW_TESTS_DIR) + "/compat/tf_checkpoint_check.py") + " " +
      quoted(folder) + " " + quoted(prefix("tf1/model.ckpt-3")));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(status, 0) << output;
}

}  // namespace
}  // namespace headwater
