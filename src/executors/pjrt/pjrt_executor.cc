#include "executors/pjrt/pjrt_executor.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "executors/pjrt/client.h"
#include "executors/pjrt/device_report.h"
#include "executors/pjrt/launch.h"
#include "executors/pjrt/plugin_search.h"
#include "executors/pjrt/program_cache.h"
#include "executors/pjrt/stablehlo_writer.h"

namespace headwater {
namespace {

using pjrt::Client;
using pjrt::DeviceBuffer;
using pjrt::LoadedExecutable;
constexpr const char* kSmaller = "use a smaller batch or sequence length";
using Replicas = std::vector<DeviceBuffer>;  // one a device

Result<Replicas> put_copies(const Client& client, size_t num_replicas, const Tensor& tensor) {
  Replicas replicas;
  for (size_t i = 0; i < num_replicas; ++i) {
    HW_ASSIGN_OR_RETURN(DeviceBuffer buffer, client.put(tensor, i));
    replicas.push_back(std::move(buffer));
  }
  return replicas;
}

class PjrtStore : public StateStore {
 public:
  struct State {
    Type type;
    Replicas replicas;
  };

  PjrtStore(const Client& client, size_t num_replicas)
      : client_(client), num_replicas_(num_replicas) {}

  Result<> set(const std::string& name, const Tensor& tensor) override {
    HW_ASSIGN_OR_RETURN(State* const state, find_or_create(name, {tensor.dtype(), tensor.shape()}));
    auto replicas = put_copies(client_, num_replicas_, tensor);
    if (!replicas) return in_context(std::move(replicas).error(), name);
    state->replicas = *std::move(replicas);
    return {};
  }

  Result<Tensor> get(const std::string& name) const override {
    const auto it = states_.find(name);
    if (it == states_.end()) return fail(Code::kNotFound, "no tensor {} on the device", name);
    const State& state = it->second;
    if (state.replicas.empty()) return Tensor(state.type.dtype, state.type.shape);
    auto tensor = state.replicas[0].to_host(state.type);
    if (!tensor) return in_context(std::move(tensor).error(), name);
    return tensor;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, state] : states_) all.push_back(name);
    return all;
  }

  // The address stays valid as long as the store. A state that nobody has set has no buffers yet.
  Result<State*> find_or_create(const std::string& name, const Type& type) {
    const auto [it, inserted] = states_.try_emplace(name);
    if (inserted) {
      it->second.type = type;
    } else if (it->second.type != type) {
      return fail(Code::kFailedPrecondition, "{} is {} on the device, the graph wants {}", name,
                  it->second.type.text(), type.text());
    }
    return &it->second;
  }

 private:
  Client client_;
  size_t num_replicas_;
  std::map<std::string, State> states_;
};

class PjrtProgram : public Program {
 public:
  static Result<std::unique_ptr<PjrtProgram>> make(const Client& client, size_t num_replicas,
                                                   LoadedExecutable executable, const Graph& graph,
                                                   PjrtStore& store) {
    auto program =
        std::unique_ptr<PjrtProgram>(new PjrtProgram(client, num_replicas, std::move(executable)));
    HW_RETURN_IF_ERROR(program->bind(graph, store));
    return program;
  }

  ~PjrtProgram() override { static_cast<void>(in_flight_.wait()); }

  Result<> feed(std::string_view name, const Tensor& tensor) override {
    const auto it = feeds_.find(name);
    if (it == feeds_.end()) return fail(Code::kNotFound, "the graph has no input {}", name);
    Feed& feed = it->second;
    const Type type{tensor.dtype(), tensor.shape()};
    if (type == feed.type) {
      HW_ASSIGN_OR_RETURN(feed.replicas, put_copies(client_, num_replicas_, tensor));
      return {};
    }
    Type dealt = feed.type;  // of a tensor that holds the rows of all replicas
    if (!dealt.shape.empty()) dealt.shape[0] *= static_cast<int64_t>(num_replicas_);
    if (type != dealt) {
      return fail(
          Code::kInvalidArgument, "input {} is {}, the graph wants {}{}", name, type.text(),
          feed.type.text(),
          num_replicas_ > 1 && !dealt.shape.empty() ? ", or for all replicas " + dealt.text() : "");
    }
    Replicas replicas;
    for (size_t i = 0; i < num_replicas_; ++i) {
      const uint8_t* const rows = tensor.data() + static_cast<int64_t>(i) * feed.type.byte_size();
      HW_ASSIGN_OR_RETURN(DeviceBuffer buffer, client_.put(feed.type, rows, i));
      replicas.push_back(std::move(buffer));
    }
    feed.replicas = std::move(replicas);
    return {};
  }

  Result<> run(RunProfile* profile) override {
    static_cast<void>(profile);  // operators are the plugin's own affair
    HW_RETURN_IF_ERROR(fill_unset());
    std::vector<std::vector<pjrt::abi::Buffer*>> arguments(num_replicas_);
    for (const Argument& argument : arguments_) {
      for (size_t i = 0; i < num_replicas_; ++i) {
        arguments[i].push_back((*argument.replicas)[i].get());
      }
    }
    auto started = executable_.run(arguments);
    if (!started) return failed(std::move(started).error());
    take_outputs(started->outputs);
    auto previous = std::exchange(in_flight_, std::move(started->done));
    if (auto done = previous.wait(); !done) return failed(std::move(done).error());
    return {};
  }

  Result<Tensor> fetch(std::string_view name) const override {
    for (const Output& output : outputs_) {
      if (output.name != name) continue;
      if (output.replicas.empty()) {
        return fail(Code::kFailedPrecondition, "fetch of {} before a run", name);
      }
      auto tensor = gather(output);
      if (!tensor) return in_context(std::move(tensor).error(), std::string(name));
      return tensor;
    }
    return fail(Code::kNotFound, "the graph has no output {}", name);
  }

  int64_t memory_bytes() const override { return memory_bytes_; }

 private:
  struct Feed {
    Type type;
    Replicas replicas;
  };
  struct Argument {
    Type type;
    Replicas* replicas;  // in the store, or in feeds_
  };
  struct Output {
    std::string name;
    Type type;  // of one replica
    Replicas replicas;
  };

  PjrtProgram(const Client& client, size_t num_replicas, LoadedExecutable executable)
      : client_(client), num_replicas_(num_replicas), executable_(std::move(executable)) {}

  Result<> bind(const Graph& graph, PjrtStore& store) {
    int64_t state_bytes = 0;
    std::map<int32_t, Replicas*> by_node;
    for (const GraphInput& input : graph.inputs()) {
      const Type& type = input.value.type();
      Replicas* replicas = nullptr;
      if (input.is_state) {
        HW_ASSIGN_OR_RETURN(PjrtStore::State* const state, store.find_or_create(input.name, type));
        replicas = &state->replicas;
        state_bytes += type.byte_size();
      } else {
        replicas = &feeds_.emplace(input.name, Feed{type, {}}).first->second.replicas;
      }
      arguments_.push_back({type, replicas});
      by_node[input.value.node()] = replicas;
    }
    std::vector<Type> expected;
    for (const StateUpdate& update : graph.updates()) {
      updated_.push_back(by_node.at(update.input.node()));
      expected.push_back(update.value.type());
    }
    for (const GraphOutput& output : graph.outputs()) {
      outputs_.push_back({output.name, output.value.type(), {}});
      expected.push_back(output.value.type());
    }
    if (executable_.outputs() != expected) {
      return fail(Code::kInternal, "the compiled program has other outputs than the graph");
    }
    return measure(state_bytes);
  }

  // XLA for the CPU compiles what no memory holds; other devices refuse it themselves.
  Result<> measure(int64_t state_bytes) {
    const auto stats = executable_.executable().memory();
    if (!stats) return {};  // a plugin that does not say
    memory_bytes_ = stats->total() - state_bytes;
    const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
    const int64_t needed = stats->total() * static_cast<int64_t>(num_replicas_);
    if (client_.platform() == "cpu" && needed > machine) {
      return fail_hint(Code::kResourceExhausted, kSmaller,
                       "the graph needs {:.1f} GB of memory, this machine has {:.1f} GB",
                       static_cast<double>(needed) / 1e9, static_cast<double>(machine) / 1e9);
    }
    return {};
  }

  // The first replica's scalar, or the rows of all.
  Result<Tensor> gather(const Output& output) const {
    if (num_replicas_ == 1 || output.type.shape.empty())
      return output.replicas[0].to_host(output.type);
    Type all = output.type;
    all.shape[0] *= static_cast<int64_t>(num_replicas_);
    Tensor tensor(all.dtype, all.shape);
    uint8_t* to = tensor.data();
    for (const DeviceBuffer& replica : output.replicas) {
      HW_ASSIGN_OR_RETURN(const Tensor rows, replica.to_host(output.type));
      to = std::copy_n(rows.data(), rows.byte_size(), to);
    }
    return tensor;
  }

  // What was never set or fed is zero.
  Result<> fill_unset() {
    for (const Argument& argument : arguments_) {
      if (!argument.replicas->empty()) continue;
      const Tensor zeros(argument.type.dtype, argument.type.shape);
      HW_ASSIGN_OR_RETURN(*argument.replicas, put_copies(client_, num_replicas_, zeros));
    }
    return {};
  }

  void take_outputs(std::vector<Replicas>& replicas) {
    for (size_t i = 0; i < num_replicas_; ++i) {
      for (size_t k = 0; k < updated_.size(); ++k) (*updated_[k])[i] = std::move(replicas[i][k]);
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      outputs_[k].replicas.clear();
      for (Replicas& outputs : replicas)
        outputs_[k].replicas.push_back(std::move(outputs[updated_.size() + k]));
    }
  }

  tl::unexpected<Error> failed(Error error) const {
    return in_context(std::move(error), fmt::format("running on {}", client_.platform()));
  }

  Client client_;
  size_t num_replicas_;
  LoadedExecutable executable_;
  std::map<std::string, Feed, std::less<>> feeds_;
  std::vector<Argument> arguments_;
  std::vector<Replicas*> updated_;  // of the program's first outputs
  std::vector<Output> outputs_;     // of those that follow
  pjrt::Completion in_flight_;
  int64_t memory_bytes_ = 0;
};

class PjrtExecutor : public Executor {
 public:
  PjrtExecutor(Client client, const ExecutorOptions& options)
      : client_(std::move(client)), options_(options) {}

  int64_t num_replicas() const override { return options_.num_replicas; }

  std::unique_ptr<StateStore> make_store() const override {
    return std::make_unique<PjrtStore>(client_, static_cast<size_t>(options_.num_replicas));
  }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, StateStore& store) const override {
    auto* const pjrt_store = dynamic_cast<PjrtStore*>(&store);
    if (pjrt_store == nullptr) {
      return fail(Code::kInvalidArgument, "the store belongs to another executor");
    }
    std::string text;
    try {
      text = stablehlo_text(
          graph, {.num_replicas = options_.num_replicas, .mixed_bf16 = options_.mixed_bf16});
    } catch (const GraphError& e) {
      return fail(Code::kInvalidArgument, "the graph cannot be written for XLA: {}", e.what());
    }
    auto executable =
        pjrt::compile_cached(client_, cache_, text, client_.options(options_.num_replicas));
    if (!executable) {
      Error error = std::move(executable).error();
      if (error.code == Code::kResourceExhausted) error.hint = kSmaller;
      return tl::unexpected<Error>(std::move(error));
    }
    HW_ASSIGN_OR_RETURN(auto program,
                        PjrtProgram::make(client_, static_cast<size_t>(options_.num_replicas),
                                          *std::move(executable), graph, *pjrt_store));
    return std::unique_ptr<Program>(std::move(program));
  }

 private:
  Client client_;
  ExecutorOptions options_;
  pjrt::ProgramCache cache_{local_files(), pjrt::default_cache_folder()};
};

// Each of several processes would train a model of its own, and all of them write to one folder.
Result<> check_one_process() {
  HW_ASSIGN_OR_RETURN(const pjrt::Launch launch, pjrt::find_launch(pjrt::process_environment()));
  if (launch.processes == 1) return {};
  return fail_hint(Code::kUnimplemented, "take a TPU of one host: v2-8, v3-8, v4-8, v5e-8",
                   "this is process {} of {} ({}): one process drives all replicas", launch.process,
                   launch.processes, launch.launcher);
}

}  // namespace

Result<std::unique_ptr<Executor>> make_pjrt_executor(std::string_view device,
                                                     const ExecutorOptions& options) {
  HW_ASSIGN_OR_RETURN(const pjrt::FoundPlugin found,
                      pjrt::find_plugin(local_files(), pjrt::process_environment(), device));
  const auto failed = [&](Error error) {
    if (const std::string lock = pjrt::tpu_lock_problem();
        found.platform == "tpu" && !lock.empty()) {
      error.hint = lock;
    }
    return in_context(std::move(error), fmt::format("device {}", device));
  };
  if (found.platform == "tpu") HW_RETURN_IF_ERROR(check_one_process());
  auto plugin = pjrt::Plugin::open(found.path);
  if (!plugin) return failed(std::move(plugin).error());
  auto client = Client::create(**plugin, std::max<int64_t>(1, options.num_replicas));
  if (!client) return failed(std::move(client).error());
  ExecutorOptions resolved = options;
  if (resolved.num_replicas == 0) {
    const bool is_cpu = client->platform() == "cpu";
    resolved.num_replicas = is_cpu ? 1 : static_cast<int64_t>(client->devices().size());
  }
  return std::make_unique<PjrtExecutor>(*std::move(client), resolved);
}

}  // namespace headwater
