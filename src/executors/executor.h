// Running graphs: the one seam between what is computed and where. "cpu" is the native executor
// (executors/cpu), everything else an XLA plugin (executors/pjrt).
//
//   Executor        a device; compiles graphs
//   StateStore      named tensors that live on the device between runs: parameters, optimizer slots
//   Program         a compiled graph; its state inputs are bound to a store, its other inputs are
//   fed
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "graph/graph.h"

namespace headwater {

class StateStore {
 public:
  virtual ~StateStore() = default;
  // Copies to the device. A name that exists must keep its type and shape.
  virtual Result<> set(const std::string& name, const Tensor& tensor) = 0;
  // Copies from the device.
  virtual Result<Tensor> get(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;  // sorted
};

// Where the time of runs went, per operator; for benchmarks.
struct RunProfile {
  struct Entry {
    int64_t calls = 0;
    double seconds = 0;
  };
  std::map<std::string, Entry, std::less<>> by_operator;
};

class Program {
 public:
  virtual ~Program() = default;
  // Copies a fed input; type and shape must be the input's. An input keeps its value until it is
  // fed again. With several replicas, a tensor of the input's own shape goes to each of them; one
  // whose first extent is that of all replicas together is dealt to them in order.
  virtual Result<> feed(std::string_view name, const Tensor& tensor) = 0;
  // Runs the graph once and applies its state updates. Nothing is allocated on the CPU. Times are
  // added to `profile` where the executor has them. An XLA device only starts here: an error may
  // come from the next run, or from what reads the results.
  virtual Result<> run(RunProfile* profile = nullptr) = 0;
  // An output of the last run. Of several replicas: the first one's scalar; of what has rows, the
  // rows of all in order.
  virtual Result<Tensor> fetch(std::string_view name) const = 0;
  // Bytes of intermediate values and of feeds and constants; the store is not counted.
  virtual int64_t memory_bytes() const = 0;
};

struct ExecutorOptions {
  // Devices of this process, each with the state and its share of feeds; 0: all that there are, one
  // where XLA makes them of the CPU.
  int64_t num_replicas = 0;
  bool mixed_bf16 = false;  // products in bf16 with f32 sums; all else stays f32
};

class Executor {
 public:
  virtual ~Executor() = default;
  // "cpu", "tpu", "cuda", "pjrt:PATH" (a plugin's file) or "pjrt:cpu" (XLA on the CPU).
  // kInvalidArgument for an unknown device. A device that was asked for and is not there is an
  // error, never silently replaced.
  static Result<std::unique_ptr<Executor>> open(std::string_view device,
                                                const ExecutorOptions& options = {});

  virtual int64_t num_replicas() const { return 1; }
  virtual std::unique_ptr<StateStore> make_store() const = 0;
  // State inputs that the store lacks are created as zeros; one of another type is an error naming
  // both. The graph may go away afterwards; the store must outlive the program.
  virtual Result<std::unique_ptr<Program>> compile(const Graph& graph, StateStore& store) const = 0;
};

}  // namespace headwater
