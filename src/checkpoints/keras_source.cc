// Weights of Keras' tf_model.h5, by the path of their dataset: the layer, then Keras' own name of
// the weight, which has slashes and ends in ":0".
#include "checkpoints/hdf5_file.h"
#include "checkpoints/weights_formats.h"

namespace headwater {
namespace {

class KerasSource : public WeightsSource {
 public:
  KerasSource(WeightsIndex index, FileBytes file, std::vector<std::span<const uint8_t>> places)
      : WeightsSource(std::move(index)), file_(std::move(file)), places_(std::move(places)) {}

 private:
  Result<WeightBytes> load(size_t index) const override { return WeightBytes(places_[index]); }

  FileBytes file_;
  std::vector<std::span<const uint8_t>> places_;
};

}  // namespace

OpenedWeights open_keras_weights(FileSystem& fs, const std::string& path) {
  HW_ASSIGN_OR_RETURN(FileBytes file, fs.map(path));
  auto content = read_hdf5(file.bytes());
  if (!content) return in_context(std::move(content).error(), path);
  WeightsIndex index{"Keras HDF5", path, {}, {}, {}};
  std::vector<std::span<const uint8_t>> places;
  for (Hdf5Dataset& dataset : content->datasets) {
    if (!index.entries.empty() && index.entries.back().name == dataset.path) {
      return fail(Code::kDataLoss, "{}: it has two datasets '{}'", path, dataset.path);
    }
    WeightEntry weight;
    weight.name = std::move(dataset.path);
    weight.type = dataset.type;
    weight.shape = std::move(dataset.shape);
    weight.bytes = static_cast<int64_t>(dataset.bytes.size());
    index.entries.push_back(std::move(weight));
    places.push_back(dataset.bytes);
  }
  if (!content->left_out.empty()) {
    index.notes.push_back(fmt::format("{} datasets are no arrays of numbers and left out: {}{}",
                                      content->left_out.size(), content->left_out.front(),
                                      content->left_out.size() > 1 ? ", ..." : ""));
  }
  return std::make_unique<KerasSource>(std::move(index), std::move(file), std::move(places));
}

}  // namespace headwater
