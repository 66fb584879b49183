// One test per *.test file in this folder.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

#include "e2e/scenario.h"

namespace {

class ScenarioTest : public testing::Test {
 public:
  explicit ScenarioTest(headwater::e2e::Scenario scenario) : scenario_(std::move(scenario)) {}
  void TestBody() override { headwater::e2e::run_scenario(scenario_); }

 private:
  headwater::e2e::Scenario scenario_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    for (const auto& path : headwater::e2e::scenario_files()) {
      const auto scenario = headwater::e2e::read_scenario(path);
      testing::RegisterTest(
          "scenario", scenario.name.c_str(), nullptr, nullptr, scenario.path.c_str(), 1,
          [scenario] { return static_cast<testing::Test*>(new ScenarioTest(scenario)); });
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return RUN_ALL_TESTS();
}
