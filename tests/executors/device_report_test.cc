// What `devices` and `doctor` know, with the fake plugin (fake_plugin/).
#include "executors/pjrt/device_report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace headwater::pjrt {
namespace {

const FoundPlugin kFake{"cpu", HW_FAKE_PLUGIN, "", "", "path"};

class DeviceReport : public testing::Test {
 protected:
  void TearDown() override { unsetenv("HW_FAKE_MODE"); }
};

TEST_F(DeviceReport, TellsVersionsAndDevices) {
  const PluginReport report = ask_plugin(kFake, /*run_program=*/false);
  EXPECT_TRUE(report.usable()) << report.problem;
  EXPECT_EQ(report.api_version, "0.81");
  EXPECT_EQ(report.stablehlo_version, "1.13.3");
  EXPECT_EQ(report.platform, "cpu");
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].memory_bytes, int64_t{1} << 30);
}

TEST_F(DeviceReport, AProgramThatDoesNotRunIsAProblem) {
  const PluginReport report = ask_plugin(kFake, /*run_program=*/true);
  EXPECT_FALSE(report.usable());
  EXPECT_NE(report.problem.find("not a program"), std::string::npos) << report.problem;
}

TEST_F(DeviceReport, PluginsThatFailTakeNothingWithThem) {
  setenv("HW_FAKE_MODE", "no device", 1);
  EXPECT_EQ(ask_plugin(kFake, false).problem, "No jellyfish device found.");
  setenv("HW_FAKE_MODE", "old", 1);
  const PluginReport old = ask_plugin(kFake, false);
  EXPECT_NE(old.problem.find("0.80"), std::string::npos) << old.problem;
  EXPECT_FALSE(old.hint.empty());
  setenv("HW_FAKE_MODE", "aborts", 1);
  EXPECT_NE(ask_plugin(kFake, false).problem.find("signal 6"), std::string::npos);
  setenv("HW_FAKE_MODE", "hangs", 1);
  EXPECT_NE(ask_plugin(kFake, false, 0.2).problem.find("no answer"), std::string::npos);
}

TEST_F(DeviceReport, NamesTheProcessThatHoldsTheLock) {
  std::string path = testing::TempDir() + "lock-XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  EXPECT_EQ(tpu_lock_problem(path), "");  // left behind
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int own = open(path.c_str(), O_RDWR);
    flock(own, LOCK_EX);
    close(ready[1]);
    pause();
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 0);  // the end: it holds the lock
  const std::string problem = tpu_lock_problem(path);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(file);
  unlink(path.c_str());
  EXPECT_NE(problem.find(std::to_string(child)), std::string::npos) << problem;
  EXPECT_EQ(tpu_lock_problem("/no/such/file"), "");
}

}  // namespace
}  // namespace headwater::pjrt
