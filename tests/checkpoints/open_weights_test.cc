// What open_weights() takes a path for: by what is inside, and with a word on what is odd.
#include <gtest/gtest.h>

#include "checkpoints/native.h"
#include "checkpoints/safetensors.h"
#include "weights_testing.h"

namespace headwater {
namespace {

class OpenWeights : public testing::Test {
 protected:
  void put_golden(const std::string& golden, const std::string& path) {
    fs_.put(path, file_text(golden_path(golden)));
  }
  std::string format(const std::string& path) {
    const auto source = open_weights(fs_, path);
    return source ? (*source)->format() : source.error().to_string();
  }
  TrainState state(int64_t step) {
    TrainState state;
    state.step = step;
    const float values[] = {1, 2};
    state.parameters.push_back({"discriminator.w", Tensor::f32({2}, values)});
    state.slots.push_back({"discriminator.w#adam_m", Tensor::f32({2}, values)});
    state.aliases["generator.w"] = "discriminator.w";
    state.meta = R"({"preset": "tiny", "seed": 3, "models": {}})";
    return state;
  }

  MemoryFileSystem fs_;
};

TEST_F(OpenWeights, ByContentNotByName) {
  put_golden("torch/pytorch_model.bin", "a/model.safetensors");
  put_golden("torch/model.safetensors", "b/pytorch_model.bin");
  put_golden("torch/legacy_model.bin", "c/x");
  put_golden("keras_h5/tf_model.h5", "d/weights");
  EXPECT_EQ(format("a"), "PyTorch");
  EXPECT_EQ(format("a/model.safetensors"), "PyTorch");
  EXPECT_EQ(format("b"), "safetensors");
  EXPECT_EQ(format("c/x"), "PyTorch (before 1.6)");
  EXPECT_EQ(format("d/weights"), "Keras HDF5");
}

TEST_F(OpenWeights, TensorFlowByPrefixIndexDataStateAndFolder) {
  put_all(fs_, golden_files("tf_checkpoint", "tf1/"));
  for (const char* path : {"tf1/model.ckpt-3", "tf1/model.ckpt-3.index", "tf1/checkpoint", "tf1",
                           "tf1/model.ckpt-3.data-00000-of-00001"})
    EXPECT_EQ(format(path), "TensorFlow checkpoint") << path;
  for (const auto& [path, content] : golden_files("tf_checkpoint", "dtypes")) {
    std::string inside = path;
    fs_.put("saved/variables/" + inside.replace(0, 11, "variables"), content);
  }
  EXPECT_EQ(format("saved"), "TensorFlow checkpoint");
}

TEST_F(OpenWeights, NativeCheckpointsAndRuns) {
  ASSERT_TRUE(save_checkpoint(fs_, "run", state(5), 0));
  ASSERT_TRUE(save_checkpoint(fs_, "run", state(12), 0));
  for (const char* path : {"run", "run/checkpoint-12", "run/checkpoint-12/checkpoint.json"}) {
    const auto source = open_weights(fs_, path);
    ASSERT_TRUE(source) << source.error().to_string();
    EXPECT_EQ((*source)->format(), "headwater checkpoint");
    EXPECT_EQ((*source)->path(), "run/checkpoint-12/state.safetensors");
    const auto alias = (*source)->find("generator.w");
    ASSERT_TRUE(alias);
    EXPECT_EQ((*source)->entries()[*alias].tied_to, "discriminator.w");
    EXPECT_EQ((*source)->read(*alias)->as<float>()[1], 2.0f);
    EXPECT_EQ((*source)->entries()[*(*source)->find("discriminator.w#adam_m")].role,
              WeightRole::kSlot);
    EXPECT_EQ((*source)->metadata()[0], std::pair(std::string("step"), std::string("12")));
  }
  std::string file = *read_file(fs_, "run/checkpoint-12/state.safetensors");
  file.back() ^= 1;
  fs_.put("run/checkpoint-12/state.safetensors", file);
  EXPECT_NE(error_text(fs_, "run").find("its CRC-32C is"), std::string::npos);
}

TEST_F(OpenWeights, OtherWeightsInAFolderAreMentioned) {
  put_golden("torch/model.safetensors", "m/model.safetensors");
  put_golden("torch/pytorch_model.bin", "m/pytorch_model.bin");
  const auto source = open_weights(fs_, "m");
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->format(), "safetensors");
  ASSERT_EQ((*source)->notes().size(), 1u);
  EXPECT_NE((*source)->notes()[0].find("pytorch_model.bin"), std::string::npos);
}

TEST_F(OpenWeights, ErrorsSayWhatWasLookedFor) {
  ASSERT_TRUE(fs_.make_directories("empty"));
  EXPECT_NE(format("empty").find("it should hold model.safetensors"), std::string::npos);
  EXPECT_NE(format("nothing").find("nothing"), std::string::npos);
  put_golden("torch/model.safetensors", "export/discriminator/model.safetensors");
  EXPECT_NE(format("export").find("there are weights in export/discriminator"), std::string::npos);
  fs_.put("page.bin", "\n<!doctype html><title>Not found</title>");
  EXPECT_NE(format("page.bin").find("is a web page"), std::string::npos);
  fs_.put("pointer.bin", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_NE(format("pointer.bin").find("git lfs pull"), std::string::npos);
  fs_.put("zero.bin", "");
  EXPECT_NE(format("zero.bin").find("is empty"), std::string::npos);
  fs_.put("config.json", R"({"model_type": "electra"})");
  EXPECT_NE(format("config.json").find("no weight_map"), std::string::npos);
}

TEST_F(OpenWeights, AnIndexNamesFilesBesideItAndNothingElse) {
  put_golden("torch/model.safetensors", "m/one.safetensors");
  const auto index = [&](const std::string& file, const std::string& tensor = "empty") {
    fs_.put("m/model.safetensors.index.json",
            fmt::format(R"({{"weight_map": {{"{}": "{}"}}}})", tensor, file));
    return format("m/model.safetensors.index.json");
  };
  EXPECT_EQ(index("one.safetensors"), "safetensors in 1 files");
  EXPECT_NE(index("../m/one.safetensors").find("not in a file beside"), std::string::npos);
  EXPECT_NE(index("two.safetensors").find("two.safetensors"), std::string::npos);
  EXPECT_NE(index("one.safetensors", "lost").find("does not have it"), std::string::npos);
  EXPECT_NE(index("model.safetensors.index.json").find("not a safetensors file"),
            std::string::npos);
}

// Tensors are borrowed from the mapping, not copied, and those of no graph are passed on as bytes.
TEST_F(OpenWeights, BorrowsAndListsForeignTypes) {
  const auto source = open_weights(local_files(), golden_path("torch/model.safetensors"));
  ASSERT_TRUE(source);
  const auto index = (*source)->find("dt.i8");
  ASSERT_TRUE(index);
  EXPECT_FALSE((*source)->entries()[*index].dtype());
  EXPECT_NE((*source)->read(*index).error().to_string().find("element type i8"), std::string::npos);
  const auto once = (*source)->read_bytes(*index), twice = (*source)->read_bytes(*index);
  EXPECT_EQ(text_of(once->bytes()), "\xfd");
  EXPECT_EQ(once->bytes().data(), twice->bytes().data());
}

}  // namespace
}  // namespace headwater
