// tf_model.h5 against what h5py sees in it, and what Keras does not write.
#include <gtest/gtest.h>

#include <numeric>

#include "checkpoints/hdf5_file.h"
#include "weights_testing.h"

namespace headwater {
namespace {

TEST(KerasFile, ReadsWhatH5pyReads) {
  const Json expected = golden_json("keras_h5/h5_expected.json");
  const auto source = open_weights(local_files(), golden_path("keras_h5"));
  ASSERT_TRUE(source) << source.error().to_string();
  EXPECT_EQ((*source)->format(), "Keras HDF5");
  ASSERT_EQ((*source)->entries().size(), expected["datasets"].size());
  for (const Json& dataset : expected["datasets"]) {
    const auto index = (*source)->find(dataset["path"].get<std::string>());
    ASSERT_TRUE(index) << dataset["path"];
    const auto tensor = (*source)->read(*index);
    ASSERT_TRUE(tensor) << tensor.error().to_string();
    EXPECT_EQ(tensor->shape(), dataset["shape"].get<Shape>());
    EXPECT_EQ(tensor->dtype(), DType::kF32);
    const auto values = tensor->as<float>();
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), dataset["sum"].get<double>(),
                1e-4);
  }
}

TEST(KerasFile, CutFilesAndNewerLayoutsAreTold) {
  MemoryFileSystem fs;
  const std::string file = file_text(golden_path("keras_h5/tf_model.h5"));
  fs.put("m.h5", file.substr(0, file.size() - 1));
  EXPECT_NE(error_text(fs, "m.h5").find(fmt::format("should have {} bytes", file.size())),
            std::string::npos);
  std::string newer = file;
  newer[8] = 2;
  fs.put("m.h5", newer);
  EXPECT_NE(error_text(fs, "m.h5").find("newer layout"), std::string::npos);
}

}  // namespace
}  // namespace headwater
