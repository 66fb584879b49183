// Small graphs whose StableHLO text is golden (tests/golden/stablehlo), and which every plugin at
// hand must compile.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/stablehlo_context.h"

namespace headwater {

struct StableHloGraph {
  const char* name;
  void (*build)(Graph& graph);
  StableHloOptions options;
};

std::vector<StableHloGraph> stablehlo_graphs();
std::string stablehlo_golden_path(const StableHloGraph& example);

}  // namespace headwater
