// Export to Hugging Face directories: weights of google's tiny ELECTRA equal to transformers' own
// conversion bit for bit, every way of sharing weights, tokenizer files, refusals, faults, and a
// check by transformers itself where it is installed.
#include "checkpoints/hf_export.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "byte_streams.h"
#include "checkpoints/hf_tokenizer.h"
#include "io/fault_files.h"
#include "io/memory_files.h"
#include "models/name_rules.h"
#include "python_peer.h"

namespace headwater {
namespace {

std::string golden(const std::string& name) {
  return std::string(HW_TESTS_DIR) + "/golden/" + name;
}

ElectraConfig golden_config(ElectraNetwork network) {
  const std::string path =
      golden(fmt::format("tf1_electra_small/hf_{}/config.json", network_name(network)));
  return ElectraConfig::from_hf_json(*parse_json(file_text(path), path), path).value();
}

// The state that a trainer would hold: canonical names, shared tables once, aliases.
TrainState golden_state(const std::string& file, const std::string& prefix) {
  TrainState state;
  const auto tensors = read_safetensors(local_files(), golden("tf1_electra_small/" + file));
  EXPECT_TRUE(tensors) << tensors.error().to_string();
  for (const NamedTensor& named : *tensors) {
    if (!named.name.starts_with(prefix)) continue;
    const auto mapped = canonical_from_tf(named.name.substr(prefix.size()));
    EXPECT_TRUE(mapped) << named.name;
    state.parameters.push_back(
        {mapped->name, mapped->transpose ? transposed(named.tensor) : named.tensor});
    const std::string shared = "discriminator.electra.embeddings.";
    if (mapped->name.starts_with(shared)) {
      state.aliases["generator.electra.embeddings." + mapped->name.substr(shared.size())] =
          mapped->name;
    }
  }
  return state;
}

Vocabulary vocabulary_of(int64_t size) {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b",
                                     "##b",   "한",    "##국",  "##어",  "국",     ".", "\"",
                                     "\\",    "中",    "é",     "e",     "ab"};
  for (int i = 0; static_cast<int64_t>(tokens.size()) < size; ++i)
    tokens.push_back(fmt::format("[unused{}]", i));
  return Vocabulary::from_tokens(tokens, "vocab.txt").value();
}

struct Request {
  TrainState state;
  Vocabulary vocabulary = vocabulary_of(96);
  HfExport request;

  explicit Request(TrainState from) : state(std::move(from)) {
    request.state = &state;
    request.vocabulary = &vocabulary;
    request.discriminator = golden_config(ElectraNetwork::kDiscriminator);
    request.generator = golden_config(ElectraNetwork::kGenerator);
  }
};

void expect_equal_weights(FileSystem& fs, const std::string& path, const std::string& expected) {
  const auto ours = read_safetensors_map(fs, path);
  const auto theirs = read_safetensors_map(local_files(), expected);
  ASSERT_TRUE(ours) << ours.error().to_string();
  ASSERT_TRUE(theirs) << theirs.error().to_string();
  EXPECT_EQ(ours->size(), theirs->size());
  for (const auto& [name, tensor] : *theirs) {
    ASSERT_TRUE(ours->contains(name)) << name;
    EXPECT_EQ(ours->at(name).shape(), tensor.shape()) << name;
    EXPECT_TRUE(std::ranges::equal(ours->at(name).bytes(), tensor.bytes())) << name;
  }
}

TEST(HfExport, EqualsTheConversionByTransformers) {
  MemoryFileSystem fs;
  const Request r(golden_state("weights.safetensors", ""));
  const auto report = export_electra(fs, r.request, "out");
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_EQ(report->networks.size(), 2u);
  EXPECT_EQ(report->networks[0].directory, "out/discriminator");
  EXPECT_TRUE(report->notes.empty());
  for (const std::string network : {"discriminator", "generator"}) {
    const std::string expected = golden("tf1_electra_small/hf_" + network);
    expect_equal_weights(fs, "out/" + network + "/model.safetensors",
                         expected + "/model.safetensors");
    // The whole file, not only the tensors: same order, same header.
    EXPECT_EQ(fs.files().at("out/" + network + "/model.safetensors"),
              file_text(expected + "/model.safetensors"));
  }
  std::set<std::string> names;
  for (const auto& [path, content] : fs.files()) names.insert(path);
  EXPECT_EQ(names.size(), 12u);
  for (const char* name : {"config.json", "model.safetensors", "special_tokens_map.json",
                           "tokenizer.json", "tokenizer_config.json", "vocab.txt"}) {
    EXPECT_TRUE(names.contains(std::string("out/discriminator/") + name));
    EXPECT_TRUE(names.contains(std::string("out/generator/") + name));
  }
}

TEST(HfExport, WritesEachNetworksOwnSizes) {
  MemoryFileSystem fs;
  const Request r(golden_state("weights.safetensors", ""));
  ASSERT_TRUE(export_electra(fs, r.request, "out"));
  for (const ElectraNetwork network :
       {ElectraNetwork::kDiscriminator, ElectraNetwork::kGenerator}) {
    const std::string name(network_name(network));
    const Json ours = *parse_json(fs.files().at("out/" + name + "/config.json"), name);
    const std::string expected = golden("tf1_electra_small/hf_" + name + "/config.json");
    const Json theirs = *parse_json(file_text(expected), expected);
    for (const char* key :
         {"model_type", "architectures", "vocab_size", "embedding_size", "hidden_size",
          "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
          "hidden_dropout_prob", "attention_probs_dropout_prob", "max_position_embeddings",
          "type_vocab_size", "initializer_range", "layer_norm_eps", "pad_token_id"}) {
      ASSERT_TRUE(ours.contains(key)) << key;
      EXPECT_EQ(ours[key], theirs[key]) << key;
    }
    EXPECT_EQ(ours["tie_word_embeddings"], true);
  }
}

// A state of zeros with the tensors of `networks`, under the names a trainer gives them.
TrainState zero_state(const std::vector<std::pair<std::string, std::vector<TensorSpec>>>& scopes) {
  TrainState state;
  for (const auto& [scope, specs] : scopes) {
    for (const TensorSpec& spec : specs)
      state.parameters.push_back({scope + spec.name, Tensor(spec.dtype, spec.shape)});
  }
  return state;
}

std::vector<TensorSpec> only(std::vector<TensorSpec> specs, bool body) {
  std::erase_if(specs, [&](const TensorSpec& s) { return s.name.starts_with("electra.") != body; });
  return specs;
}

TEST(HfExport, FollowsEveryWayOfSharing) {
  const ElectraConfig big = golden_config(ElectraNetwork::kDiscriminator);
  const auto discriminator = *hf_electra_tensors(big, ElectraNetwork::kDiscriminator);
  const auto big_generator = *hf_electra_tensors(big, ElectraNetwork::kGenerator);
  MemoryFileSystem fs;

  // One encoder for both networks, with and without recorded aliases.
  Request tied(
      zero_state({{"discriminator.", discriminator}, {"generator.", only(big_generator, false)}}));
  tied.request.generator = big;
  ASSERT_TRUE(export_electra(fs, tied.request, "tied"));
  for (const TensorSpec& spec : only(big_generator, true))
    tied.state.aliases["generator." + spec.name] = "discriminator." + spec.name;
  const auto aliased = export_electra(fs, tied.request, "tied2");
  ASSERT_TRUE(aliased) << aliased.error().to_string();
  EXPECT_EQ(fs.files().at("tied/generator/model.safetensors"),
            fs.files().at("tied2/generator/model.safetensors"));

  // Embeddings of the generator's own: as wide as its encoder, no projection.
  ElectraConfig own = golden_config(ElectraNetwork::kGenerator);
  own.embedding_size = own.hidden_size;
  Request untied(
      zero_state({{"discriminator.", discriminator},
                  {"generator.", *hf_electra_tensors(own, ElectraNetwork::kGenerator)}}));
  untied.request.generator = own;
  const auto exported = export_electra(fs, untied.request, "untied");
  ASSERT_TRUE(exported) << exported.error().to_string();
  const auto map = read_safetensors_map(fs, "untied/generator/model.safetensors");
  EXPECT_FALSE(map->contains("electra.embeddings_project.weight"));
  EXPECT_EQ(map->at("electra.embeddings.word_embeddings.weight").shape(), (Shape{96, 8}));

  // Masked-language-model objective: one network, whichever scope holds its body.
  for (const std::string scope : {"discriminator.", "generator."}) {
    Request mlm(zero_state(
        {{scope, only(big_generator, true)}, {"generator.", only(big_generator, false)}}));
    mlm.request.discriminator.reset();
    mlm.request.generator = big;
    const auto one = export_electra(fs, mlm.request, "mlm-" + scope);
    ASSERT_TRUE(one) << one.error().to_string();
    EXPECT_EQ(one->networks.size(), 1u);
    EXPECT_FALSE(fs.exists("mlm-" + scope + "/discriminator"));
  }
}

TEST(HfExport, SaysWhatDoesNotFit) {
  MemoryFileSystem fs;
  Request r(golden_state("weights.safetensors", ""));
  r.request.generator->num_hidden_layers = 1;
  const auto deeper = export_electra(fs, r.request, "out");
  ASSERT_FALSE(deeper);
  EXPECT_NE(deeper.error().message.find("the generator is not as its configuration says: 16 not in "
                                        "the model: generator.electra.encoder.layer.1."),
            std::string::npos)
      << deeper.error().to_string();

  Request sizes(golden_state("weights.safetensors", ""));
  std::swap(sizes.request.generator, sizes.request.discriminator);
  const auto swapped = export_electra(fs, sizes.request, "out");
  ASSERT_FALSE(swapped);
  EXPECT_NE(swapped.error().message.find("of another shape: "), std::string::npos);

  Request words(golden_state("weights.safetensors", ""));
  words.vocabulary = vocabulary_of(97);
  EXPECT_EQ(export_electra(fs, words.request, "out").error().message,
            "vocab.txt has 97 tokens, the discriminator has rows for 96");
  Request none(golden_state("weights.safetensors", ""));
  none.request.discriminator.reset();
  none.request.generator.reset();
  EXPECT_FALSE(export_electra(fs, none.request, "out"));
  EXPECT_TRUE(fs.files().empty());
}

TEST(HfExport, KeepsADirectoryThatHoldsFiles) {
  MemoryFileSystem fs;
  fs.put("out/generator/notes.txt", "mine");
  Request r(golden_state("weights.safetensors", ""));
  const auto refused = export_electra(fs, r.request, "out");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_EQ(fs.files().size(), 1u);
  r.request.overwrite = true;
  ASSERT_TRUE(export_electra(fs, r.request, "out"));
  ASSERT_TRUE(export_electra(fs, r.request, "out"));
  EXPECT_EQ(fs.files().at("out/generator/notes.txt"), "mine");
  EXPECT_EQ(fs.files().size(), 13u);
}

TEST(HfExport, AFaultLeavesNoDirectoryThatLooksComplete) {
  const Request plain(golden_state("weights.safetensors", ""));
  for (const bool crash : {false, true}) {
    for (int64_t nth = 1;; ++nth) {
      MemoryFileSystem fs;
      FaultFileSystem faults(fs);
      if (crash) faults.crash_at(nth);
      else faults.fill_disk_at(nth);
      const auto report = export_electra(faults, plain.request, "out");
      if (faults.operations() < nth) break;
      ASSERT_FALSE(report && crash) << nth;
      for (const std::string network : {"out/discriminator", "out/generator"}) {
        if (!fs.exists(network + "/config.json")) continue;
        EXPECT_TRUE(read_safetensors(fs, network + "/model.safetensors")) << nth;
        EXPECT_TRUE(parse_json(*read_file(fs, network + "/tokenizer.json"), "t")) << nth;
      }
    }
  }
}

const std::string& file_of(const HfTokenizerFiles& files, std::string_view name) {
  return std::ranges::find(files.files, name, [](const auto& f) { return f.first; })->second;
}

TEST(HfTokenizer, EqualsWhatTransformersWrites) {
  const auto vocabulary = Vocabulary::load(local_files(), golden("hf_tokenizer/vocab.txt"));
  ASSERT_TRUE(vocabulary);
  const auto files = hf_tokenizer_files(*vocabulary, {}, 512);
  ASSERT_TRUE(files);
  for (const std::string name : {"vocab.txt", "tokenizer.json", "special_tokens_map.json"})
    EXPECT_EQ(file_of(*files, name), file_text(golden("hf_tokenizer/" + name))) << name;
  const Json config = *parse_json(file_of(*files, "tokenizer_config.json"), "config");
  EXPECT_EQ(config["model_max_length"], 512);
  EXPECT_EQ(config["do_lower_case"], false);
  EXPECT_TRUE(config["strip_accents"].is_null());
  EXPECT_EQ(config["added_tokens_decoder"]["4"]["content"], "[MASK]");
}

TEST(HfTokenizer, CarriesOptionsAndUnusualVocabularies) {
  const auto vocabulary = Vocabulary::from_tokens(
      {"a", "[MASK]", "", "[SEP]", "a", "[PAD]", "[CLS]", "[UNK]", "\"q\\"}, "v.txt");
  TokenizerOptions options;
  options.do_lower_case = true;
  options.strip_accents = false;
  options.normalize = "nfc";
  const auto files = hf_tokenizer_files(*vocabulary, options, 128);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->notes.empty());
  const auto json = parse_json(file_of(*files, "tokenizer.json"), "tokenizer.json");
  ASSERT_TRUE(json) << json.error().to_string();
  EXPECT_EQ((*json)["model"]["vocab"]["a"], 4);  // the last of two
  EXPECT_EQ((*json)["model"]["vocab"][""], 2);
  EXPECT_EQ((*json)["model"]["vocab"]["\"q\\"], 8);
  EXPECT_EQ((*json)["post_processor"]["special_tokens"]["[CLS]"]["ids"][0], 6);
  EXPECT_EQ((*json)["normalizer"]["normalizers"][0]["type"], "NFC");
  EXPECT_EQ((*json)["normalizer"]["normalizers"][1]["lowercase"], true);
  EXPECT_EQ((*json)["normalizer"]["normalizers"][1]["strip_accents"], false);
  EXPECT_EQ(file_of(*files, "vocab.txt"), "a\n[MASK]\n\n[SEP]\na\n[PAD]\n[CLS]\n[UNK]\n\"q\\\n");
  options.normalize = "nfkc";
  options.max_jamo_run = 3;
  EXPECT_EQ(
      hf_tokenizer_files(*vocabulary, options, 128)->notes,
      std::vector<std::string>{"tokenizer.json cannot say normalize nfkc, max_jamo_run: apply "
                               "it to texts before tokenising them there"});
  EXPECT_FALSE(hf_tokenizer_files(*Vocabulary::from_tokens({"a"}, "v.txt"), {}, 128));
}

TEST(HfExportCompat, TransformersLoadsBothNetworks) {
  if (!python_has("torch, transformers, safetensors")) {
    GTEST_SKIP() << "no Python with torch, transformers and safetensors (set HW_PYTHON)";
  }
  const std::string folder = testing::TempDir() + fmt::format("hw_export_{}", ::getpid());
  Request r(golden_state("step0.safetensors", "init/"));
  const auto report = export_electra(local_files(), r.request, folder);
  ASSERT_TRUE(report) << report.error().to_string();

  TokenizerOptions options;
  options.compatibility = "hf";
  const auto tokenizer = Tokenizer::create(r.vocabulary, options);
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  Json sample = {{"texts", Json::array()}, {"ids", Json::array()}};
  for (const char* text : {"", "ab b", "한국어 국.", "abb \"한\\국\"", "中é e", "A", "[MASK] a"}) {
    std::vector<int32_t> ids;
    if (std::string_view(text) == "[MASK] a")
      ids = {4, 5};  // special tokens are seen in text there
    else tokenizer->append_ids(text, ids);
    sample["texts"].push_back(text);
    sample["ids"].push_back(ids);
  }
  const std::string texts = folder + "/texts.json";
  ASSERT_TRUE(write_file_atomic(local_files(), texts, dump_json(sample)));
  const auto [status, output] = run_command(
      python() + " " + quoted(HW_TESTS_DIR "/compat/export_check.py") + " " + quoted(folder) + " " +
      quoted(golden("tf1_electra_small/step0.safetensors")) + " " + quoted(texts));
  EXPECT_EQ(status, 0) << output;
  RecordProperty("transformers", output);
  run_command("rm -r " + quoted(folder));
}

}  // namespace
}  // namespace headwater
