// Loading plugins, and what happens when one is not what it should be: with a fake plugin
// (fake_plugin/), so that no wheel is needed.
#include "executors/pjrt/plugin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "executors/plugins.h"

namespace headwater::pjrt {
namespace {

// A fresh copy of the fake plugin, which the loader takes for another library.
class FakePlugin {
 public:
  explicit FakePlugin(const char* mode = "") {
    folder_ = testing::TempDir() + "fake-plugin-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder");
    std::filesystem::copy_file(HW_FAKE_PLUGIN, path());
    set_mode(mode);
  }
  ~FakePlugin() {
    std::filesystem::remove_all(folder_);
    unsetenv("HW_FAKE_MODE");
  }
  static void set_mode(const char* mode) { setenv("HW_FAKE_MODE", mode, 1); }
  std::string path() const { return folder_ + "/fake.so"; }
  const std::string& folder() const { return folder_; }
  Result<const Plugin*> open() const { return Plugin::open(path()); }
  Client client(int64_t num_devices = 1) const {
    return value_or_throw(Client::create(*value_or_throw(open()), num_devices));
  }
  int64_t live_objects() const {
    void* const library = dlopen(path().c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int64_t (*)()>(dlsym(library, "FakePluginLiveObjects"))();
  }

 private:
  std::string folder_;
};

template <class T>
std::string message(const Result<T>& result) {
  return result ? "no error" : result.error().to_string();
}

TEST(Plugin, SaysItsVersionAndAttributes) {
  const FakePlugin fake;
  const Plugin* const plugin = value_or_throw(fake.open());
  EXPECT_EQ(plugin->api_version(), "0.81");
  EXPECT_EQ(plugin->attribute("stablehlo_current_version"), "1.13.3");
  EXPECT_EQ(plugin->attribute("maker"), "tests");
  EXPECT_EQ(plugin->attribute("none"), "");
  EXPECT_EQ(value_or_throw(fake.open()), plugin);
}

TEST(Plugin, ThatIsMissingOrNoLibraryIsNamed) {
  const auto missing = Plugin::open("/no/such/plugin.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  const FakePlugin fake;
  const std::string text = fake.folder() + "/text.so";
  std::ofstream(text) << "no library";
  const auto opened = Plugin::open(text);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kInvalidArgument);
  EXPECT_NE(message(opened).find("text.so"), std::string::npos) << message(opened);
  const auto library = Plugin::open(HW_NO_PLUGIN);
  ASSERT_FALSE(library);
  EXPECT_NE(message(library).find("GetPjrtApi"), std::string::npos) << message(library);
}

TEST(Plugin, ThatIsTooOldOrOfAnotherMajorVersionIsRefused) {
  for (const auto& [mode, text] : {std::pair("old", "0.80"), std::pair("other major", "1.81"),
                                   std::pair("short", "shorter")}) {
    const FakePlugin fake(mode);
    const auto plugin = fake.open();
    ASSERT_FALSE(plugin) << mode;
    EXPECT_EQ(plugin.error().code, Code::kFailedPrecondition);
    EXPECT_NE(message(plugin).find(text), std::string::npos) << message(plugin);
  }
  EXPECT_FALSE(FakePlugin("no interface").open());
}

TEST(Plugin, ThatDoesNotStartSaysWhyInOneLine) {
  const FakePlugin fake("does not start");
  const auto plugin = fake.open();
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().code, Code::kAborted);
  EXPECT_TRUE(message(plugin).ends_with("does not start: the TPU is in use")) << message(plugin);
}

TEST(Plugin, DoesNotTakeOurSignals) {
  const FakePlugin fake("takes signals");
  ASSERT_TRUE(fake.open());
  struct sigaction action {};
  sigaction(SIGTERM, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(Plugin, MessagesLoseTheirNoise) {
  EXPECT_EQ(plain_message("\n  line 1:2: bad op\nversion mismatch?\n"), "line 1:2: bad op");
  EXPECT_EQ(plain_message("bad [Suspected Python Code Location: x]"), "bad");
  EXPECT_EQ(plain_message(""), "");
  EXPECT_EQ(plain_message(" \n"), "");
}

TEST(Plugin, ThatLacksAFunctionSaysSo) {
  const FakePlugin fake("lacks a function");
  const auto client = Client::create(*value_or_throw(fake.open()), 1);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::kUnimplemented);
}

TEST(Client, WithoutADeviceIsAnError) {
  const FakePlugin fake("no device");
  const auto client = Client::create(*value_or_throw(fake.open()), 1);
  ASSERT_FALSE(client);
  EXPECT_EQ(message(client), "No jellyfish device found.");
}

TEST(Client, MakesAsManyCpuDevicesAsReplicas) {
  const FakePlugin fake;
  const Client client = fake.client(7);
  EXPECT_EQ(client.devices().size(), 7u);
  EXPECT_EQ(client.devices()[6].id, 6);
  EXPECT_EQ(client.devices()[0].kind, "fake");
  EXPECT_EQ(client.devices()[0].memory_limit, int64_t{1} << 30);
}

TEST(Client, OfADeviceThatIsNoCpuHasWhatItHas) {
  const FakePlugin fake("other platform");
  EXPECT_EQ(fake.client(2).devices().size(), 4u);
  const auto eight = Client::create(*value_or_throw(fake.open()), 8);
  ASSERT_FALSE(eight);
  EXPECT_NE(message(eight).find("8 replicas"), std::string::npos) << message(eight);
}

TEST(Client, RefusedProgramsGiveTheFirstLine) {
  const FakePlugin fake;
  const auto program = fake.client().compile("nonsense", {});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kInvalidArgument);
  EXPECT_EQ(message(program), "compiling for cpu: line 1:1: not a program");
}

TEST(Client, OptionsThatEndTheProcessAreRefusedHere) {
  const FakePlugin fake;
  EXPECT_FALSE(fake.client().compile("identity 1", {.num_replicas = 0}));
  EXPECT_FALSE(fake.client().compile("identity 1", {.num_replicas = 2, .device_ids = {0}}));
}

TEST(Client, RunsAndFreesEverything) {
  const FakePlugin fake;
  {
    const Client client = fake.client(2);
    const Tensor a = Tensor::f32({2}, std::vector<float>{1, 2});
    const auto outputs = run_text(client, "identity 1", {{a}, {a}});
    EXPECT_EQ(outputs[1][0].as<float>()[1], 2);
  }
  EXPECT_EQ(fake.live_objects(), 0);
}

TEST(Client, ARunThatFailsIsAnError) {
  const FakePlugin fake;
  const Client client = fake.client();
  const LoadedExecutable program = value_or_throw(client.compile("identity 0", {}));
  FakePlugin::set_mode("run fails");
  const auto run = program.run({{}});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Code::kResourceExhausted);
}

// The others wait for the lost replica: nobody may wait for them.
TEST(Client, AReplicaThatFailsEndsTheWaitForAll) {
  const FakePlugin fake;
  const Client client = fake.client(3);
  const LoadedExecutable program = value_or_throw(client.compile("identity 0", client.options(3)));
  FakePlugin::set_mode("replica fails");
  auto run = value_or_throw(program.run({{}, {}, {}}));
  const auto done = run.done.wait();
  ASSERT_FALSE(done);
  EXPECT_EQ(message(done), "replica 1: chip 1 is lost");
  EXPECT_EQ(message(run.done.wait()), message(done));
}

// The bytes that XLA reads: field numbers of CompileOptionsProto.
TEST(CompileOptions, AreEncodedUnderXlasNumbers) {
  using namespace std::string_literals;
  EXPECT_EQ(value_or_throw(CompileOptions{}.encode()), "\x1a\x04\x20\x01\x28\x01"s);
  const CompileOptions two{.num_replicas = 2, .device_ids = {0, 5}, .overrides = {{"a", "true"}}};
  EXPECT_EQ(value_or_throw(two.encode()),
            "\x1a\x10\x20\x02\x28\x01\x4a\x0a\x08\x02\x10\x01\x1a\x04\x0a\x02\x00\x05"
            "\x3a\x07\x0a\x01\x61\x12\x02\x10\x01"s);
}

}  // namespace
}  // namespace headwater::pjrt
