// Devices of a plugin, and what lives on them: buffers and compiled programs, each freed by its
// destructor.
//
//   Client            the devices of this machine that a plugin drives
//   DeviceBuffer      a tensor on one device
//   Executable        a compiled program: what it needs and gives
//   LoadedExecutable  the same, ready to run on devices
//
// Every object keeps its client alive. Calls may come from any thread, one at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "executors/pjrt/compile_options.h"
#include "executors/pjrt/plugin.h"
#include "graph/graph.h"

namespace headwater::pjrt {

// The plugin's client, destroyed after the last object that it made. A client of which one replica
// failed while others still wait for it is abandoned: they would be waited for without end.
struct Connection {
  explicit Connection(const Plugin& p) : plugin(&p) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const Plugin* plugin;
  abi::Client* client = nullptr;  // null: ahead of time
  std::atomic<bool> abandoned = false;
};

// Nothing where the connection is abandoned.
void destroy(const Connection& connection, abi::Buffer* buffer);
void destroy(const Connection& connection, abi::Executable* executable);
void destroy(const Connection& connection, abi::LoadedExecutable* executable);

template <class T>
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<Connection> connection, T* object)
      : connection_(std::move(connection)), object_(object) {}
  Handle(Handle&& other) noexcept
      : connection_(std::move(other.connection_)), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(connection_, other.connection_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) destroy(*connection_, object_);
  }
  T* get() const { return object_; }
  const std::shared_ptr<Connection>& connection() const { return connection_; }
  const Plugin& plugin() const { return *connection_->plugin; }

 private:
  std::shared_ptr<Connection> connection_;
  T* object_ = nullptr;
};

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(Handle<abi::Buffer> handle) : handle_(std::move(handle)) {}
  bool valid() const { return handle_.get() != nullptr; }
  abi::Buffer* get() const { return handle_.get(); }
  // Waits for what computes it. The type is the caller's knowledge.
  Result<Tensor> to_host(const Type& type) const;
  Result<bool> is_deleted() const;  // by a program that it was donated to

 private:
  Handle<abi::Buffer> handle_;
};

// Bytes of one device.
struct MemoryStats {
  int64_t code = 0, arguments = 0, outputs = 0;
  int64_t aliased = 0;    // outputs that lie in donated arguments
  int64_t temporary = 0;  // intermediate values
  int64_t peak = 0;       // all of it at the fullest moment; 0 where the plugin does not say

  int64_t total() const { return code + arguments + outputs - aliased + temporary; }
};

class Executable {
 public:
  explicit Executable(Handle<abi::Executable> handle) : handle_(std::move(handle)) {}
  Result<std::vector<Type>> outputs() const;
  Result<MemoryStats> memory() const;
  // A figure of the compiler's cost model: "flops", "optimal_seconds"; none where it has none.
  std::optional<double> cost(std::string_view name) const;
  // Bytes that the same version of the plugin loads again.
  Result<std::string> serialize() const;

 private:
  Handle<abi::Executable> handle_;
};

// What becomes of a run that was started: done when all replicas are, failed when one of them is.
class Completion {
 public:
  Completion() = default;
  // Takes the events, one a replica.
  static Result<Completion> of(const std::shared_ptr<Connection>& connection,
                               const std::vector<abi::Event*>& events);
  Result<> wait();  // again and again: the same answer

 private:
  struct State {
    std::shared_ptr<Connection> connection;
    std::mutex mutex;  // over the two members below
    size_t remaining = 0;
    std::optional<Error> error;
    std::condition_variable changed;
  };
  struct Callback;
  std::shared_ptr<State> state_;  // null: nothing to wait for
};

class LoadedExecutable {
 public:
  struct Run {
    std::vector<std::vector<DeviceBuffer>> outputs;  // [replica][output]; may still be computed
    Completion done;
  };

  static Result<LoadedExecutable> make(Handle<abi::LoadedExecutable> handle);
  const Executable& executable() const { return executable_; }
  const std::vector<Type>& outputs() const { return outputs_; }
  // Starts the program on every replica; [replica][argument].
  Result<Run> run(const std::vector<std::vector<abi::Buffer*>>& arguments) const;

 private:
  LoadedExecutable(Handle<abi::LoadedExecutable> handle, Executable executable)
      : handle_(std::move(handle)), executable_(std::move(executable)) {}
  Handle<abi::LoadedExecutable> handle_;
  Executable executable_;
  std::vector<Type> outputs_;
};

struct DeviceInfo {
  abi::Device* device = nullptr;
  int id = 0;
  std::string kind;
  std::optional<int64_t> memory_limit;  // bytes, where the plugin says
};

class Client {
 public:
  // Opens the devices. A plugin for the CPU makes `num_devices` of one machine; others have what
  // they have, and fewer than `num_devices` are an error.
  static Result<Client> create(const Plugin& plugin, int64_t num_devices);

  const Plugin& plugin() const { return *connection_->plugin; }
  const std::string& platform() const { return platform_; }  // "cpu", "tpu", "cuda"
  const std::string& platform_version() const { return platform_version_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  // The first devices, one a replica.
  CompileOptions options(int64_t num_replicas) const;

  // Copies a tensor to a device (an index into devices()); `data` may be reused at once.
  Result<DeviceBuffer> put(const Type& type, const uint8_t* data, size_t device = 0) const;
  Result<DeviceBuffer> put(const Tensor& tensor, size_t device = 0) const {
    return put({tensor.dtype(), tensor.shape()}, tensor.data(), device);
  }
  // Compiles StableHLO text.
  Result<LoadedExecutable> compile(std::string_view text, const CompileOptions& options) const;
  // Loads what serialize() gave.
  Result<LoadedExecutable> load(std::string_view serialized) const;

 private:
  static Result<Client> connect(const Plugin& plugin, std::optional<int64_t> cpu_devices);
  Result<> describe();

  std::shared_ptr<Connection> connection_;
  std::string platform_, platform_version_;
  std::vector<DeviceInfo> devices_;
};

Result<std::string> device_kind(const Plugin& plugin, abi::DeviceDescription* description);
// Text of a program as the interface takes it; `text` must outlive it.
abi::Program mlir_program(std::string_view text);

}  // namespace headwater::pjrt
