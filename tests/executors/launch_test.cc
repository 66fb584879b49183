#include "executors/pjrt/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace headwater::pjrt {
namespace {

Result<Launch> launch_with(const std::map<std::string, std::string, std::less<>>& variables) {
  return find_launch([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Launch, WithoutALauncherThereIsOneProcess) { EXPECT_EQ(launch_with({}), Launch{}); }

TEST(Launch, EveryLauncherIsUnderstood) {
  EXPECT_EQ(
      *launch_with(
          {{"HEADWATER_RANK", "1"}, {"HEADWATER_SIZE", "2"}, {"HEADWATER_COORDINATOR", "a:9"}}),
      (Launch{1, 2, "a:9", "headwater"}));
  EXPECT_EQ(*launch_with({{"TPU_WORKER_ID", "3"}, {"TPU_WORKER_HOSTNAMES", "t0,t1,t2,t3"}}),
            (Launch{3, 4, "t0", "tpu"}));
  EXPECT_EQ(*launch_with({{"TPU_WORKER_ID", "0"},
                          {"TPU_WORKER_HOSTNAMES", "x"},
                          {"TPU_PROCESS_ADDRESSES", "t0:8476,t1:8476"}}),
            (Launch{0, 2, "t0:8476", "tpu"}));
  EXPECT_EQ(*launch_with({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "8"}}),
            (Launch{2, 8, "", "openmpi"}));
  EXPECT_EQ(*launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), (Launch{0, 2, "", "mpich"}));
  EXPECT_EQ(*launch_with({{"RANK", "1"},
                          {"WORLD_SIZE", "4"},
                          {"MASTER_ADDR", "10.0.0.1"},
                          {"MASTER_PORT", "29500"}}),
            (Launch{1, 4, "10.0.0.1:29500", "torchrun"}));
}

TEST(Launch, SlurmsListOfNodes) {
  const auto first = [](const std::string& nodes) {
    return launch_with(
               {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_NODELIST", nodes}})
        ->coordinator;
  };
  EXPECT_EQ(first("a"), "a");
  EXPECT_EQ(first("a,b"), "a");
  EXPECT_EQ(first("a[01-04]"), "a01");
  EXPECT_EQ(first("a[3,7],b"), "a3");
  EXPECT_EQ(first("a-x[12]"), "a-x12");
  EXPECT_EQ(first("login,a[1-2]"), "login");
  EXPECT_EQ(first("a["), "");
}

TEST(Launch, OursGoesBeforeOthers) {
  const auto launch = launch_with(
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"HEADWATER_RANK", "0"}, {"HEADWATER_SIZE", "1"}});
  EXPECT_EQ(launch->launcher, "headwater");
}

TEST(Launch, AVariableOfAnotherMeaningAloneIsNoLauncher) {
  EXPECT_EQ(*launch_with({{"RANK", "captain"}}), Launch{});
}

TEST(Launch, WhatCannotBeIsAnError) {
  EXPECT_NE(launch_with({{"RANK", "x"}, {"WORLD_SIZE", "4"}}).error().message.find("RANK is 'x'"),
            std::string::npos);
  for (const char* rank : {"4", "-1", "", "1e3", "99999999999999999999"}) {
    EXPECT_FALSE(launch_with({{"RANK", rank}, {"WORLD_SIZE", "4"}})) << rank;
  }
  EXPECT_FALSE(launch_with({{"HEADWATER_RANK", "0"}}));
  EXPECT_FALSE(launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}));
}

}  // namespace
}  // namespace headwater::pjrt
