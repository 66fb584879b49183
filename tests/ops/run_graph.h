// Runs graphs on the CPU executor with given operands: what the tests of ops, executors and graph
// rewrites share. Errors end the test program's case by an exception.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "executors/executor.h"
#include "graph/graph.h"

namespace headwater {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return *std::move(result);
}
inline void ok_or_throw(const Result<>& result) {
  if (!result) throw std::runtime_error(result.error().to_string());
}

// A compiled graph. Its inputs are fed in their order, its outputs come back in theirs.
class CompiledGraph {
 public:
  explicit CompiledGraph(const Graph& graph) {
    executor_ = value_or_throw(Executor::open("cpu"));
    store_ = executor_->make_store();
    program_ = value_or_throw(executor_->compile(graph, *store_));
    for (const GraphInput& input : graph.inputs()) {
      names_.push_back(input.name);
      is_state_.push_back(input.is_state);
    }
    for (const GraphOutput& output : graph.outputs()) outputs_.push_back(output.name);
  }

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    if (inputs.size() != names_.size()) throw std::runtime_error("wrong number of inputs");
    for (size_t i = 0; i < inputs.size(); ++i) {
      ok_or_throw(is_state_[i] ? store_->set(names_[i], inputs[i])
                               : program_->feed(names_[i], inputs[i]));
    }
    ok_or_throw(program_->run());
    std::vector<Tensor> results;
    for (const std::string& name : outputs_) {
      results.push_back(value_or_throw(program_->fetch(name)));
    }
    return results;
  }

  StateStore& store() { return *store_; }
  Program& program() { return *program_; }

 private:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Program> program_;
  std::vector<std::string> names_, outputs_;
  std::vector<bool> is_state_;
};

inline std::vector<Tensor> run_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  return CompiledGraph(graph)(inputs);
}

}  // namespace headwater
