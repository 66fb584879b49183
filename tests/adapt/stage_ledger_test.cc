#include "adapt/stage_ledger.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace headwater {
namespace {

using State = StageLedger::State;

class StageLedgerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ledger-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  State enter(const Json& inputs) {
    auto ledger = StageLedger::open(local_files(), folder_);
    EXPECT_TRUE(ledger.has_value()) << ledger.error().to_string();
    auto state = ledger->enter("records", "records", inputs, moved_);
    EXPECT_TRUE(state.has_value()) << state.error().to_string();
    return *state;
  }
  void make(const std::string& content) {
    std::filesystem::create_directories(folder_ + "/records");
    EXPECT_TRUE(write_file_atomic(local_files(), folder_ + "/records/a", content).has_value());
  }
  void finish() {
    auto ledger = StageLedger::open(local_files(), folder_);
    EXPECT_TRUE(ledger->finish("records", "made", 1.5).has_value());
  }

  std::string folder_, moved_;
};

TEST_F(StageLedgerTest, AFinishedStageIsTakenAsItIs) {
  EXPECT_EQ(enter({{"x", 1}}), State::kNew);
  make("one");
  EXPECT_EQ(enter({{"x", 1}}), State::kInterrupted);
  finish();
  EXPECT_EQ(enter({{"x", 1}}), State::kDone);
  EXPECT_EQ(StageLedger::open(local_files(), folder_)->line("records"), "made");
}

TEST_F(StageLedgerTest, WhatOtherInputsMadeIsSetAside) {
  enter({{"x", 1}});
  make("one");
  finish();
  for (int round = 1; round <= 2; ++round) {
    EXPECT_EQ(enter({{"x", 1 + round}}), State::kNew);
    EXPECT_EQ(moved_, fmt::format("{}/records.before-{}", folder_, round));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/records"));
    make("again");
  }
  EXPECT_EQ(*read_file(local_files(), folder_ + "/records.before-1/a"), "one");
}

TEST_F(StageLedgerTest, AFinishedStageWithoutItsFolderIsMadeAgain) {
  enter({{"x", 1}});
  make("one");
  finish();
  std::filesystem::remove_all(folder_ + "/records");
  EXPECT_EQ(enter({{"x", 1}}), State::kNew);
  EXPECT_EQ(moved_, "");
}

TEST_F(StageLedgerTest, NothingOfOthersIsTouched) {
  make("of somebody else");
  auto ledger = StageLedger::open(local_files(), folder_);
  const auto state = ledger->enter("records", "records", {{"x", 1}}, moved_);
  ASSERT_FALSE(state.has_value());
  EXPECT_NE(state.error().to_string().find("was not made by this command"), std::string::npos);
  EXPECT_EQ(*read_file(local_files(), folder_ + "/records/a"), "of somebody else");
}

TEST_F(StageLedgerTest, FilesThatAreNoLedgerAreRefused) {
  for (const char* text : {"{}", "[1]", R"({"headwater_adapt": 2, "stages": {}})",
                           R"({"headwater_adapt": 1, "stages": {"a": {"key": 3}}})"}) {
    EXPECT_TRUE(write_file_atomic(local_files(), folder_ + "/adapt.json", text).has_value());
    const auto ledger = StageLedger::open(local_files(), folder_);
    ASSERT_FALSE(ledger.has_value()) << text;
    EXPECT_NE(ledger.error().to_string().find("adapt.json is not what"), std::string::npos);
  }
}

}  // namespace
}  // namespace headwater
