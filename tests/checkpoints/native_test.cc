// Native checkpoints: round trip, keep policy, left-overs, damage, and every single operation of a
// save failing, crashing or meeting a full disk.
#include "checkpoints/native.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/threefry.h"
#include "io/fault_files.h"
#include "io/memory_files.h"

namespace headwater {
namespace {

TrainState make_state(int64_t step, float value = 1) {
  TrainState state;
  state.step = step;
  const auto filled = [&](Shape shape, float v) {
    Tensor tensor(DType::kF32, std::move(shape));
    std::ranges::fill(tensor.as<float>(), v);
    return tensor;
  };
  state.parameters.push_back({"a.weight", filled({2, 3}, value)});
  state.parameters.push_back({"b.bias", filled({4}, value + 1)});
  state.slots.push_back({"a.weight#adam_m", filled({2, 3}, value + 2)});
  state.slots.push_back({"a.weight#adam_v", filled({2, 3}, value + 3)});
  state.aliases["c.weight"] = "a.weight";
  state.meta = R"({"seed":7,"config":{"이름":"값"}})";
  return state;
}

void expect_same(const TrainState& a, const TrainState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.aliases, b.aliases);
  EXPECT_EQ(a.meta, b.meta);
  const auto same = [](const std::vector<NamedTensor>& x, const std::vector<NamedTensor>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].name, y[i].name);
      EXPECT_EQ(x[i].tensor.shape(), y[i].tensor.shape());
      EXPECT_TRUE(std::ranges::equal(x[i].tensor.bytes(), y[i].tensor.bytes())) << x[i].name;
    }
  };
  same(a.parameters, b.parameters);
  same(a.slots, b.slots);
}

void save(FileSystem& fs, int64_t step, int64_t keep = 0, float value = 1) {
  const auto saved = save_checkpoint(fs, "run", make_state(step, value), keep);
  ASSERT_TRUE(saved) << saved.error().to_string();
  EXPECT_EQ(*saved, fmt::format("run/checkpoint-{}", step));
}

std::vector<int64_t> steps(FileSystem& fs) {
  std::vector<int64_t> all;
  const auto places = list_checkpoints(fs, "run");
  if (!places) return all;
  for (const CheckpointPlace& place : *places) all.push_back(place.step);
  return all;
}

TEST(NativeCheckpoint, RoundTrips) {
  MemoryFileSystem fs;
  save(fs, 120);
  const auto loaded = load_checkpoint(fs, "run/checkpoint-120");
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  expect_same(*loaded, make_state(120));
  const auto manifest = read_checkpoint_manifest(fs, "run/checkpoint-120");
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->version, HW_VERSION);

  const auto weights = load_checkpoint(fs, "run/checkpoint-120", LoadSlots::kNo);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->parameters.size(), 2u);
  EXPECT_TRUE(weights->slots.empty());
}

TEST(NativeCheckpoint, FindsTheLatestByStepNotByName) {
  MemoryFileSystem fs;
  EXPECT_EQ(latest_checkpoint(fs, "run").error().code, Code::kNotFound);
  for (const int64_t step : {9, 100, 20}) save(fs, step);
  EXPECT_EQ(steps(fs), (std::vector<int64_t>{9, 20, 100}));
  EXPECT_EQ(latest_checkpoint(fs, "run")->path, "run/checkpoint-100");
  EXPECT_EQ(*find_checkpoint(fs, "run"), "run/checkpoint-100");
  EXPECT_EQ(*find_checkpoint(fs, "run/checkpoint-9"), "run/checkpoint-9");
  // Another program's directory of the same name is none of ours.
  fs.put("run/checkpoint-500/trainer_state.json", "{}");
  fs.put("run/checkpoint-0700/checkpoint.json", "{}");
  fs.put("run/checkpoint-x/checkpoint.json", "{}");
  EXPECT_EQ(latest_checkpoint(fs, "run")->step, 100);
}

TEST(NativeCheckpoint, KeepsTheNewestAndNeverRemovesWhatIsNotOurs) {
  MemoryFileSystem fs;
  fs.put("run/checkpoint-1/pytorch_model.bin", "theirs");
  fs.put("run/checkpoint-2/checkpoint.json", "{\"format\": \"another program\"}");
  fs.put("run/notes.txt", "mine");
  save(fs, 3, 2);
  fs.put("run/checkpoint-3/notes.txt", "why this one matters");
  for (const int64_t step : {10, 20, 30}) save(fs, step, 2);
  const auto files = fs.files();
  EXPECT_TRUE(files.contains("run/checkpoint-1/pytorch_model.bin"));
  EXPECT_TRUE(files.contains("run/checkpoint-2/checkpoint.json"));
  EXPECT_TRUE(files.contains("run/notes.txt"));
  EXPECT_TRUE(files.contains("run/checkpoint-3/state.safetensors"));
  EXPECT_EQ(steps(fs), (std::vector<int64_t>{2, 3, 20, 30}));
  save(fs, 40, 1);
  EXPECT_EQ(steps(fs), (std::vector<int64_t>{2, 3, 40}));
  for (const int64_t step : {50, 60, 70}) save(fs, step, 0);
  EXPECT_EQ(steps(fs), (std::vector<int64_t>{2, 3, 40, 50, 60, 70}));
}

TEST(NativeCheckpoint, ReplacesACheckpointOfTheSameStep) {
  MemoryFileSystem fs;
  save(fs, 5, 0, 1);
  save(fs, 5, 0, 2);
  expect_same(*load_checkpoint(fs, "run/checkpoint-5"), make_state(5, 2));
  EXPECT_EQ(fs.list("run")->size(), 1u);
}

TEST(NativeCheckpoint, RefusesAPlaceThatHoldsForeignFiles) {
  MemoryFileSystem fs;
  fs.put("run/checkpoint-5/optimizer.pt", "theirs");
  const auto saved = save_checkpoint(fs, "run", make_state(5), 0);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().to_string(),
            "cannot save run/checkpoint-5: run/checkpoint-5 is in the way: headwater did not write "
            "all that it holds; move it away");
  EXPECT_EQ(fs.files().size(), 1u);
}

TEST(NativeCheckpoint, RemovesLeftOversOnlyIfOurs) {
  MemoryFileSystem fs;
  fs.put("run/checkpoint-7.partial/state.safetensors", "half");
  fs.put("run/checkpoint-7.partial/.checkpoint.json.tmp-12-1", "ha");
  fs.put("run/checkpoint-8.partial/model.bin", "theirs");
  fs.put("run/checkpoint-9.backup/state.safetensors", "theirs");
  EXPECT_TRUE(steps(fs).empty());
  save(fs, 10);
  const auto files = fs.files();
  EXPECT_FALSE(files.contains("run/checkpoint-7.partial/state.safetensors"));
  EXPECT_TRUE(files.contains("run/checkpoint-8.partial/model.bin"));
  EXPECT_TRUE(files.contains("run/checkpoint-9.backup/state.safetensors"));
  EXPECT_EQ(files.size(), 4u);
}

// One fault at every operation of a save over an earlier checkpoint.
enum class Fault { kError, kFullDisk, kCrash };

void arm(FaultFileSystem& faults, Fault fault, int64_t nth) {
  if (fault == Fault::kError) faults.fail_at(nth);
  if (fault == Fault::kFullDisk) faults.fill_disk_at(nth);
  if (fault == Fault::kCrash) faults.crash_at(nth);
}

// `before` steps exist; `state` is saved with `keep`. Returns the number of operations tried.
int64_t try_every_fault(Fault fault, const std::vector<int64_t>& before, int64_t step,
                        int64_t keep) {
  for (int64_t nth = 1;; ++nth) {
    MemoryFileSystem fs;
    for (const int64_t earlier : before) save(fs, earlier);
    FaultFileSystem faults(fs);
    arm(faults, fault, nth);
    const auto saved = save_checkpoint(faults, "run", make_state(step, 9), keep);
    const bool reached = faults.operations() >= nth;
    if (fault == Fault::kCrash) fs.lose_unsynced();

    const auto latest = latest_checkpoint(fs, "run");
    EXPECT_TRUE(latest) << "neither old nor new after operation " << nth;
    if (!latest) return nth;
    const auto loaded = load_checkpoint(fs, latest->path);
    EXPECT_TRUE(loaded) << nth << ": " << loaded.error().to_string();
    if (!loaded) return nth;
    const bool is_new = latest->step == step &&
                        std::ranges::equal(loaded->parameters[0].tensor.bytes(),
                                           make_state(step, 9).parameters[0].tensor.bytes());
    if (is_new) expect_same(*loaded, make_state(step, 9));
    else expect_same(*loaded, make_state(before.back(), 1));
    EXPECT_TRUE(is_new || !saved) << nth;
    if (!saved && fault == Fault::kFullDisk) {
      EXPECT_EQ(saved.error().code, Code::kResourceExhausted);
      EXPECT_EQ(saved.error().to_string().find('\n'), std::string::npos);
      EXPECT_NE(saved.error().hint.find("free some space"), std::string::npos);
      EXPECT_NE(saved.error().hint.find(latest->path), std::string::npos);
    }
    // The next save works and leaves nothing but checkpoints.
    const auto again = save_checkpoint(fs, "run", make_state(step + 1, 3), keep);
    EXPECT_TRUE(again) << nth << ": " << again.error().to_string();
    const auto entries = fs.list("run");
    for (const FileInfo& entry : *entries)
      EXPECT_EQ(entry.path.find(".partial"), std::string::npos);
    for (const FileInfo& entry : *entries)
      EXPECT_EQ(entry.path.find(".replaced"), std::string::npos);
    EXPECT_EQ(latest_checkpoint(fs, "run")->step, step + 1);
    if (!reached) return nth;
  }
}

TEST(NativeCheckpointFaults, EveryOperationOfASave) {
  for (const Fault fault : {Fault::kError, Fault::kFullDisk, Fault::kCrash})
    EXPECT_GT(try_every_fault(fault, {10}, 20, 0), 8);
}

TEST(NativeCheckpointFaults, EveryOperationOfASaveThatPrunes) {
  for (const Fault fault : {Fault::kError, Fault::kFullDisk, Fault::kCrash})
    EXPECT_GT(try_every_fault(fault, {10, 11, 12}, 20, 2), 16);
}

TEST(NativeCheckpointFaults, EveryOperationOfASaveThatReplaces) {
  for (const Fault fault : {Fault::kError, Fault::kFullDisk, Fault::kCrash})
    EXPECT_GT(try_every_fault(fault, {10, 20}, 20, 0), 12);
}

TEST(NativeCheckpointFaults, EveryReadOfALoad) {
  MemoryFileSystem fs;
  save(fs, 10);
  save(fs, 20);
  FaultFileSystem faults(fs);
  int64_t nth = 1;
  for (;; ++nth) {
    faults.reset();
    faults.fail_read_at(nth);
    const auto loaded = load_checkpoint(faults, "run/checkpoint-20");
    if (faults.reads() < nth) break;
    ASSERT_FALSE(loaded) << nth;
  }
  EXPECT_GT(nth, 4);
}

TEST(NativeCheckpointDamage, EveryFlippedByteIsFound) {
  MemoryFileSystem fs;
  save(fs, 10);
  save(fs, 20);
  const std::string path = "run/checkpoint-20/state.safetensors";
  const std::string good = fs.files().at(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    fs.put(path, bad);
    const auto loaded = load_checkpoint(fs, "run/checkpoint-20");
    ASSERT_FALSE(loaded) << "byte " << i;
    EXPECT_NE(loaded.error().hint.find("the checkpoint before it is run/checkpoint-10"),
              std::string::npos)
        << loaded.error().to_string();
  }
  fs.put(path, good.substr(0, good.size() - 1));
  EXPECT_NE(load_checkpoint(fs, "run/checkpoint-20").error().message.find("bytes, it has"),
            std::string::npos);
  ASSERT_TRUE(fs.remove(path));
  EXPECT_FALSE(load_checkpoint(fs, "run/checkpoint-20"));
}

TEST(NativeCheckpointDamage, SaysWhatIsWrong) {
  MemoryFileSystem fs;
  save(fs, 20);
  std::string bad = fs.files().at("run/checkpoint-20/state.safetensors");
  bad.back() = static_cast<char>(bad.back() ^ 1);
  fs.put("run/checkpoint-20/state.safetensors", bad);
  const std::string error = load_checkpoint(fs, "run/checkpoint-20").error().to_string();
  EXPECT_NE(error.find("run/checkpoint-20/state.safetensors is damaged: its CRC-32C is"),
            std::string::npos)
      << error;
  EXPECT_EQ(load_checkpoint(fs, "run/checkpoint-21").error().to_string(),
            "run/checkpoint-21 is no checkpoint: there is no run/checkpoint-21/checkpoint.json");
}

TEST(NativeCheckpointDamage, MutatedManifestsAreReadOrRefused) {
  MemoryFileSystem fs;
  save(fs, 20);
  const std::string path = "run/checkpoint-20/checkpoint.json";
  const std::string good = fs.files().at(path);
  RandomStream random(Key::from_seed(4));
  static constexpr std::string_view kTokens[] = {
      "{", "}", "[", "]", ",", "\"", "null", "1", "-1e9", "false", "{}", "1e99999", "\xff"};
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const size_t at = random.below(bad.size());
      const uint64_t kind = random.below(3);
      if (kind == 0) bad[at] = static_cast<char>(random.below(256));
      if (kind == 1) bad.replace(at, random.below(6), kTokens[random.below(std::size(kTokens))]);
      if (kind == 2) bad.resize(at + 1);
    }
    fs.put(path, bad);
    const auto loaded = load_checkpoint(fs, "run/checkpoint-20");
    EXPECT_TRUE(loaded || !loaded.error().message.empty());
  }
  fs.put(path, "[1]");
  EXPECT_FALSE(load_checkpoint(fs, "run/checkpoint-20"));
  std::string newer = good;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  fs.put(path, newer);
  EXPECT_EQ(load_checkpoint(fs, "run/checkpoint-20").error().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace headwater
