// One PJRT plugin: a shared library with an XLA compiler and runtime in it, loaded by its path.
//
// Any version of the interface from abi::kMinorVersion on is driven; a function is called only
// where the plugin's table reaches to it. A plugin stays loaded until the process ends: its threads
// and exit handlers do not survive being unloaded. Nothing here finds plugins (plugin_search.h) or
// opens devices (client.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "executors/pjrt/abi.h"

namespace headwater::pjrt {

// What a plugin is loaded for. libtpu asks the machine's metadata server and locks the TPU unless
// it is told before it is loaded that no TPU will be used.
enum class PluginUse { kDevices, kAheadOfTime };

class Plugin {
 public:
  // A plugin that this process has loaded already is the same object; `use` counts the first time.
  static Result<const Plugin*> open(const std::string& path, PluginUse use = PluginUse::kDevices);

  const std::string& path() const { return path_; }
  std::string api_version() const;  // "0.81"
  // "stablehlo_current_version" -> "1.13.3"; empty when the plugin does not say.
  std::string attribute(std::string_view name) const;

  // Calls a function of the table; its error becomes ours, kUnimplemented where there is none.
  template <class Args>
  Result<> call(abi::Function<Args> abi::Api::*function, Args& args) const {
    if (!reaches(&(api_->*function)) || api_->*function == nullptr) return lacks_function();
    return take((api_->*function)(&args));
  }
  // Takes an error of the plugin; null is success.
  Result<> take(abi::Error* error) const;
  // Waits for an event and destroys it; null is a thing that is done.
  Result<> await(abi::Event* event) const;

 private:
  Plugin() = default;
  Result<> load(const std::string& path, PluginUse use);
  Result<> check_version() const;
  Result<> initialize();
  bool reaches(const void* slot) const;
  Result<> lacks_function() const;

  struct Attribute {
    std::string name, value;
  };
  std::string path_;
  const abi::Api* api_ = nullptr;
  std::vector<Attribute> attributes_;
};

// The part of a plugin's message that says what happened: one line, without what it guesses about
// Python code or versions.
std::string plain_message(std::string_view message);

// True where a TPU is attached to this machine.
bool has_tpu_hardware();

}  // namespace headwater::pjrt
