// Parameters are found by building: a Scope is a place in the tree of names, and asking it for a
// parameter adds a state input to the graph and an entry to the ParameterTree. No second list of
// parameters exists.
//
// Names are Hugging Face's. Asking for one name twice is an error (two layers sharing weights by
// accident), unless the scope says shared(): a second pass through the same weights. Further names
// of a tensor are noted by alias().
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace headwater {

struct Initializer {
  enum class Kind { kZeros, kOnes, kNormal, kTruncatedNormal, kGlorotUniform };
  Kind kind = Kind::kZeros;
  double stddev = 0;      // of a normal distribution; a truncated one is cut at two of them
  int64_t zero_row = -1;  // of a normal table: the row that starts as zeros (padding)

  static Initializer zeros() { return {Kind::kZeros}; }
  static Initializer ones() { return {Kind::kOnes}; }
  static Initializer normal(double stddev, int64_t zero_row = -1) {
    return {Kind::kNormal, stddev, zero_row};
  }
  static Initializer truncated_normal(double stddev) { return {Kind::kTruncatedNormal, stddev}; }
  static Initializer glorot_uniform() { return {Kind::kGlorotUniform}; }
};

struct Parameter {
  std::string name;
  Value value;
  Initializer init;
};

class ParameterTree {
 public:
  // The state inputs of parameters are called "<name><state_suffix>": a graph that reads other
  // tensors in their place (an average of them) has a suffix.
  explicit ParameterTree(Graph& graph, std::string state_suffix = {})
      : graph_(&graph), state_suffix_(std::move(state_suffix)) {}
  Graph& graph() const { return *graph_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // Further name -> the name of the parameter it is.
  const std::map<std::string, std::string>& aliases() const { return aliases_; }

  // Throws GraphError when the name exists, or with `may_exist`, when it exists with another shape.
  Value add(std::string name, Shape shape, Initializer init, bool may_exist = false);
  void alias(std::string name, std::string of) { aliases_[std::move(name)] = std::move(of); }

 private:
  Graph* graph_;
  std::string state_suffix_;
  std::vector<Parameter> parameters_;
  std::map<std::string, std::string> aliases_;
};

class Scope {
 public:
  explicit Scope(ParameterTree& tree, std::string path = {})
      : tree_(&tree), path_(std::move(path)) {}

  // The same place, whose parameters may exist already.
  Scope shared() const;
  // The place below: scope / "encoder" / "layer" / 3.
  Scope operator/(std::string_view name) const;
  Scope operator/(int64_t index) const;
  const std::string& path() const { return path_; }
  Graph& graph() const { return tree_->graph(); }
  ParameterTree& tree() const { return *tree_; }

  // "<path>.<name>" as a parameter.
  Value param(std::string_view name, Shape shape, Initializer init) const;
  // The number of a random stream of this place: CRC32C of "<path>.<name>".
  int64_t site(std::string_view name) const;

 private:
  std::string join(std::string_view name) const;
  ParameterTree* tree_;
  std::string path_;
  bool shared_ = false;
};

// The first value of a parameter: a pure function of (seed, name).
Tensor initial_value(std::string_view name, const Shape& shape, Initializer init, uint64_t seed);

}  // namespace headwater
