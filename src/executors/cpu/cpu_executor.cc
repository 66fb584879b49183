#include "executors/cpu/cpu_executor.h"

#include <chrono>
#include <cstring>
#include <map>
#include <new>

#include "base/threads.h"
#include "executors/cpu/plan.h"
#include "graph/op.h"

namespace headwater {
namespace {

using Clock = std::chrono::steady_clock;

class CpuStore : public StateStore {
 public:
  Result<> set(const std::string& name, const Tensor& tensor) override {
    HW_ASSIGN_OR_RETURN(Tensor* const slot, find_or_create(name, {tensor.dtype(), tensor.shape()}));
    if (tensor.byte_size() > 0) {
      std::memcpy(slot->data(), tensor.data(), static_cast<size_t>(tensor.byte_size()));
    }
    return {};
  }

  Result<Tensor> get(const std::string& name) const override {
    const auto it = tensors_.find(name);
    if (it == tensors_.end()) return fail(Code::kNotFound, "no tensor {} on the device", name);
    return it->second;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : tensors_) all.push_back(name);
    return all;
  }

  // The address stays valid as long as the store.
  Result<Tensor*> find_or_create(const std::string& name, const Type& type) {
    const auto [it, inserted] = tensors_.try_emplace(name);
    if (inserted) {
      it->second = Tensor(type.dtype, type.shape);
    } else if (Type{it->second.dtype(), it->second.shape()} != type) {
      return fail(Code::kFailedPrecondition, "{} is {} on the device, the graph wants {}", name,
                  Type{it->second.dtype(), it->second.shape()}.text(), type.text());
    }
    return &it->second;
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

class CpuProgram : public Program {
 public:
  // Lowers the graph to operators that have kernels and resolves every address once.
  static Result<std::unique_ptr<CpuProgram>> make(const Graph& graph, CpuStore& store) {
    auto program = std::unique_ptr<CpuProgram>(new CpuProgram);
    try {
      decompose(graph, program->graph_, [](const Op& op) { return op.cpu != nullptr; });
    } catch (const GraphError& e) {  // a decomposition that is larger than anything may be
      return fail(Code::kInvalidArgument, "the graph cannot run on the CPU: {}", e.what());
    }
    for (const Node& node : program->graph_.nodes()) {
      if (node.op->cpu == nullptr && node.op != &kInputOp) {
        return fail(Code::kUnimplemented, "operator {} has no CPU kernel", node.op->name);
      }
    }
    const MemoryPlan plan = plan_memory(program->graph_);
    HW_RETURN_IF_ERROR(program->allocate(plan, store));
    program->make_steps(plan);
    return program;
  }

  Result<> feed(std::string_view name, const Tensor& tensor) override {
    const auto it = feeds_.find(name);
    if (it == feeds_.end()) return fail(Code::kNotFound, "the graph has no input {}", name);
    const Feed& feed = it->second;
    if (Type{tensor.dtype(), tensor.shape()} != feed.type) {
      return fail(Code::kInvalidArgument, "input {} is {}, the graph wants {}", name,
                  Type{tensor.dtype(), tensor.shape()}.text(), feed.type.text());
    }
    if (tensor.byte_size() > 0) {
      std::memcpy(feed.data, tensor.data(), static_cast<size_t>(tensor.byte_size()));
    }
    return {};
  }

  Result<> run(RunProfile* profile) override {
    if (num_threads() > num_threads_) {
      return fail(Code::kFailedPrecondition,
                  "a program that was compiled for {} threads cannot run on {}", num_threads_,
                  num_threads());
    }
    flush_denormals();
    for (const Step& step : steps_) {
      const auto start = Clock::now();
      step.op->cpu(
          KernelContext(*step.node, step.input_types, step.inputs, step.outputs, step.workspace));
      if (profile != nullptr) {
        RunProfile::Entry& entry = profile->by_operator[std::string(step.op->name)];
        entry.calls += 1;
        entry.seconds += std::chrono::duration<double>(Clock::now() - start).count();
      }
    }
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
    has_run_ = true;
    return {};
  }

  Result<Tensor> fetch(std::string_view name) const override {
    if (!has_run_) return fail(Code::kFailedPrecondition, "fetch of {} before a run", name);
    for (const Output& output : outputs_) {
      if (output.name != name) continue;
      Tensor tensor(output.type.dtype, output.type.shape);
      if (tensor.byte_size() > 0) {
        std::memcpy(tensor.data(), output.data, static_cast<size_t>(tensor.byte_size()));
      }
      return tensor;
    }
    return fail(Code::kNotFound, "the graph has no output {}", name);
  }

  int64_t memory_bytes() const override {
    int64_t bytes = arena_.size();
    for (const AlignedBuffer& buffer : owned_) bytes += buffer.size();
    return bytes;
  }

 private:
  struct Feed {
    Type type;
    uint8_t* data;
  };
  struct Output {
    std::string name;
    Type type;
    const uint8_t* data;
  };
  struct Step {
    const Op* op;
    const Node* node;
    std::vector<const Type*> input_types;
    std::vector<const uint8_t*> inputs;
    std::vector<uint8_t*> outputs;
    std::span<uint8_t> workspace;
  };
  struct Copy {
    uint8_t* to;
    const uint8_t* from;
    size_t bytes;
  };

  CpuProgram() = default;

  Result<> allocate(const MemoryPlan& plan, CpuStore& store) {
    try {
      arena_ = AlignedBuffer(plan.arena_bytes);
      address_.resize(plan.buffers.size());
      for (size_t i = 0; i < plan.buffers.size(); ++i) {
        const PlannedBuffer& buffer = plan.buffers[i];
        if (buffer.kind == PlannedBuffer::Kind::kArena) {
          address_[i] = arena_.data() + buffer.offset;
        } else if (buffer.kind == PlannedBuffer::Kind::kState) {
          const Node& node = graph_.node(buffer.source);
          HW_ASSIGN_OR_RETURN(Tensor* const tensor,
                              store.find_or_create(node.attrs.get_text("name"), node.outputs[0]));
          address_[i] = tensor->data();
        } else {
          address_[i] = owned_.emplace_back(buffer.bytes).data();
        }
      }
    } catch (const std::bad_alloc&) {
      return fail_hint(Code::kResourceExhausted, "use a smaller batch or sequence length",
                       "the graph needs {:.1f} GB of memory, which this machine does not give",
                       static_cast<double>(plan.arena_bytes) / 1e9);
    }
    return {};
  }

  void make_steps(const MemoryPlan& plan) {
    const auto address_of = [&](Value v) {
      return address_[static_cast<size_t>(
          plan.buffer_of[static_cast<size_t>(v.node())][static_cast<size_t>(v.output())])];
    };
    for (size_t id = 0; id < graph_.nodes().size(); ++id) {
      const Node& node = graph_.nodes()[id];
      if (node.op == &kInputOp) {
        const GraphInput& input = *graph_.find_input(node.attrs.get_text("name"));
        if (!input.is_state) {
          feeds_.emplace(input.name, Feed{node.outputs[0], address_of(input.value)});
        }
        continue;
      }
      if (node.op->is_view) continue;
      Step step{node.op, &node, {}, {}, {}, {}};
      for (const Value& input : node.inputs) {
        step.input_types.push_back(&input.type());
        step.inputs.push_back(address_of(input));
      }
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        step.outputs.push_back(
            address_of(Value(nullptr, static_cast<int32_t>(id), static_cast<int32_t>(i))));
      }
      if (const int32_t scratch = plan.workspace_of[id]; scratch >= 0) {
        const auto index = static_cast<size_t>(scratch);
        step.workspace = {address_[index], static_cast<size_t>(plan.buffers[index].bytes)};
      }
      if (node.inputs.empty()) {  // constants are evaluated here, once
        step.op->cpu(
            KernelContext(node, step.input_types, step.inputs, step.outputs, step.workspace));
      } else {
        steps_.push_back(std::move(step));
      }
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      outputs_.push_back(
          {output.name, output.value.type(), address_[static_cast<size_t>(plan.output_buffer[i])]});
    }
    for (const BufferCopy& copy : plan.copies) {
      copies_.push_back({address_[static_cast<size_t>(copy.to)],
                         address_[static_cast<size_t>(copy.from)],
                         static_cast<size_t>(copy.bytes)});
    }
  }

  Graph graph_;
  AlignedBuffer arena_;
  std::vector<AlignedBuffer> owned_;  // feeds and constants
  std::vector<uint8_t*> address_;     // of the plan's buffers
  std::map<std::string, Feed, std::less<>> feeds_;
  std::vector<Output> outputs_;
  std::vector<Step> steps_;
  std::vector<Copy> copies_;
  int num_threads_ = num_threads();  // workspaces are planned for as many
  bool has_run_ = false;
};

class CpuExecutor : public Executor {
 public:
  std::unique_ptr<StateStore> make_store() const override { return std::make_unique<CpuStore>(); }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, StateStore& store) const override {
    auto* const cpu_store = dynamic_cast<CpuStore*>(&store);
    if (cpu_store == nullptr) {
      return fail(Code::kInvalidArgument, "the store belongs to another executor");
    }
    HW_ASSIGN_OR_RETURN(auto program, CpuProgram::make(graph, *cpu_store));
    return std::unique_ptr<Program>(std::move(program));
  }
};

}  // namespace

std::unique_ptr<Executor> make_cpu_executor() { return std::make_unique<CpuExecutor>(); }

}  // namespace headwater
