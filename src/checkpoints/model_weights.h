// A checkpoint of any format and dialect as our models see it: which networks it holds, and their
// parameters and moments under canonical names (models/name_rules.h) in canonical layout.
//
// The two networks of an ELECTRA pair stand under the scopes `discriminator.` and `generator.`,
// wherever they come from: a TensorFlow checkpoint, a training state of ours, or a directory that
// holds both as Hugging Face models, as `headwater export` writes it. Tensors are read one at a
// time. Writing is checkpoints/convert.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "checkpoints/weights_source.h"
#include "io/file.h"
#include "models/detect.h"
#include "state/train_state.h"

namespace headwater {

class ModelWeights {
 public:
  // `path`: as for open_weights(), or a directory with discriminator/ and generator/. Sizes are
  // seen in the weights; `config`, a config.json, adds what they do not show and must not
  // contradict them. Empty: the config.json beside the weights, or what a checkpoint of ours says
  // of itself, where there is one.
  static Result<ModelWeights> open(FileSystem& fs, const std::string& path,
                                   const std::string& config = {});

  struct Network {
    std::string scope;  // "discriminator.", "generator.", or empty
    Model model;
    bool heads_assumed = false;  // nothing said how many attention heads there are
    std::string directory;       // where the files beside the weights are
  };
  struct Item {
    size_t source = 0, entry = 0;
    Shape shape;              // canonical
    bool transposed = false;  // in the file
    bool moment = false;
  };
  // What was not taken, by name in the file.
  struct Left {
    std::vector<std::string> unknown, buffers, tied, steps;
    int64_t moments = 0;  // of the taken ones
  };

  const std::string& path() const { return path_; }
  NameDialect dialect() const { return dialect_; }
  NameFamily family() const { return family_; }
  const std::vector<Network>& networks() const { return networks_; }
  const std::map<std::string, Item, std::less<>>& items() const { return items_; }
  const Left& left() const { return left_; }
  std::optional<int64_t> step() const { return step_; }
  // What the run left in a checkpoint of ours (TrainState::meta); "{}" of all others.
  const std::string& meta() const { return meta_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const WeightsSource& source(size_t i) const { return *sources_[i]; }
  const WeightEntry& entry(const Item& item) const {
    return sources_[item.source]->entries()[item.entry];
  }

  // The parameter `name` of a network, without scope; of the pair also what the network shares with
  // the other. Null: it has none.
  const Item* find(const Network& network, std::string_view name) const;
  // Bytes in the file's element type, in canonical layout or, with `transpose`, the other way
  // round.
  Result<WeightBytes> read_bytes(const Item& item, bool transpose = false) const;
  // As f32, in canonical layout.
  Result<Tensor> read(const Item& item) const;
  // All of it, as a training state. Tensors that a network shares with the other come up as
  // aliases.
  Result<TrainState> state() const;

 private:
  ModelWeights() = default;
  Result<> add(FileSystem& fs, std::unique_ptr<WeightsSource> source, const std::string& scope,
               const std::string& config);
  Result<Network> describe(FileSystem& fs, const DetectedNetwork& network, const std::string& where,
                           const std::string& config) const;
  Result<> merge_pair(FileSystem& fs, const std::string& path);
  Result<> drop_shared_tables();
  Result<> read_step();

  std::string path_;
  NameDialect dialect_ = NameDialect::kNative;
  NameFamily family_ = NameFamily::kElectraPair;
  std::vector<std::unique_ptr<WeightsSource>> sources_;
  std::vector<Network> networks_;
  std::map<std::string, Item, std::less<>> items_;  // by scoped canonical name
  Left left_;
  std::optional<int64_t> step_;
  std::string meta_ = "{}";
  std::vector<std::string> notes_;
};

}  // namespace headwater
