#include "executors/pjrt/plugin.h"

#include <dlfcn.h>
#include <glob.h>
#include <signal.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "io/file.h"

namespace headwater::pjrt {
namespace {

void set_default(const char* name, const char* value) { setenv(name, value, /*overwrite=*/0); }

// What libtpu reads when it is loaded. Whatever the user has set stays.
void prepare_libtpu(PluginUse use) {
  set_default("TPU_LOG_DIR", "disabled");  // no files in the folder for temporary files
  set_default("TPU_MIN_LOG_LEVEL", "3");
  if (use == PluginUse::kDevices && has_tpu_hardware()) return;
  set_default("TPU_SKIP_MDS_QUERY", "1");  // the metadata server answers on Google's machines only
  set_default("ALLOW_MULTIPLE_LIBTPU_LOAD", "1");
  set_default("TPU_ACCELERATOR_TYPE", "v3-8");
  set_default("TPU_WORKER_HOSTNAMES", "localhost");
  set_default("TPU_WORKER_ID", "0");
}

// Puts back what a plugin changes while it is loaded: libtpu takes SIGTERM and others for traces of
// its own, and a run that is told to stop would end without its last checkpoint.
class KeepSignals {
 public:
  KeepSignals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &actions_[i]);
  }
  ~KeepSignals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &actions_[i], nullptr);
  }
  KeepSignals(const KeepSignals&) = delete;
  KeepSignals& operator=(const KeepSignals&) = delete;

 private:
  static constexpr int kSignals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS, SIGFPE,
                                     SIGSEGV, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2};
  struct sigaction actions_[std::size(kSignals)];
};

std::string attribute_text(const abi::NamedValue& value) {
  switch (value.type) {
    case abi::kString: return std::string(value.string_value, value.value_size);
    case abi::kInt64: return fmt::format("{}", value.int64_value);
    case abi::kInt64List:
      return fmt::format("{}", fmt::join(value.int64_array_value,
                                         value.int64_array_value + value.value_size, "."));
    case abi::kFloat: return fmt::format("{}", value.float_value);
    case abi::kBool: return value.bool_value ? "true" : "false";
  }
  return "";
}

}  // namespace

bool has_tpu_hardware() {
  for (const char* pattern : {"/dev/accel[0-9]*", "/dev/vfio/[0-9]*"}) {
    glob_t found{};
    const bool any = ::glob(pattern, 0, nullptr, &found) == 0;
    globfree(&found);
    if (any) return true;
  }
  return false;
}

std::string plain_message(std::string_view message) {
  message = message.substr(0, message.find("Suspected Python Code Location"));
  message.remove_prefix(std::min(message.find_first_not_of(" \n"), message.size()));
  message = message.substr(0, message.find('\n'));
  while (message.ends_with(' ') || message.ends_with('[')) message.remove_suffix(1);
  return std::string(message);
}

Result<const Plugin*> Plugin::open(const std::string& path, PluginUse use) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Plugin>> loaded;  // as the loader's own list
  const std::lock_guard lock(mutex);
  if (const auto it = loaded.find(path); it != loaded.end()) return it->second.get();
  auto plugin = std::unique_ptr<Plugin>(new Plugin);
  if (auto result = plugin->load(path, use); !result) {
    return in_context(std::move(result).error(), path);
  }
  return (loaded[path] = std::move(plugin)).get();
}

Result<> Plugin::load(const std::string& path, PluginUse use) {
  path_ = path;
  HW_RETURN_IF_ERROR(local_files().info(path));
  const KeepSignals keep_signals;
  if (base_name(path) == "libtpu.so") prepare_libtpu(use);
  set_default("TF_CPP_MIN_LOG_LEVEL", "3");  // what is wrong comes back as an error
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return fail_hint(Code::kInvalidArgument, "a PJRT plugin is a shared library for this machine",
                     "cannot be loaded: {}", reason != nullptr ? reason : "no reason given");
  }
  const auto get_api = reinterpret_cast<const abi::Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    return fail(Code::kInvalidArgument, "is no PJRT plugin: it has no function GetPjrtApi");
  }
  api_ = get_api();
  if (api_ == nullptr) return fail(Code::kInternal, "the plugin gives no PJRT interface");
  HW_RETURN_IF_ERROR(check_version());
  return initialize();
}

Result<> Plugin::check_version() const {
  const abi::ApiVersion& version = api_->version;
  if (version.major_version != abi::kMajorVersion || version.minor_version < abi::kMinorVersion) {
    return fail_hint(Code::kFailedPrecondition, "install another version of the plugin",
                     "speaks version {} of the PJRT interface; 0.{} or a later 0.x is needed",
                     api_version(), abi::kMinorVersion);
  }
  // The last function that every plugin of that version has.
  if (!reaches(&api_->executable_get_compiled_memory_stats)) {
    return fail(Code::kFailedPrecondition, "its PJRT interface is shorter than its version says");
  }
  return {};
}

Result<> Plugin::initialize() {
  abi::PluginInitializeArgs initialize;
  if (auto result = call(&abi::Api::plugin_initialize, initialize); !result) {
    return in_context(std::move(result).error(), "the plugin does not start");
  }
  abi::PluginAttributesArgs args;
  HW_RETURN_IF_ERROR(call(&abi::Api::plugin_attributes, args));
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const abi::NamedValue& value = args.attributes[i];
    attributes_.push_back({std::string(value.name, value.name_size), attribute_text(value)});
  }
  return {};
}

bool Plugin::reaches(const void* slot) const {
  const auto begin = reinterpret_cast<uintptr_t>(api_);
  return reinterpret_cast<uintptr_t>(slot) - begin + sizeof(void*) <= api_->struct_size;
}

Result<> Plugin::lacks_function() const {
  return fail_hint(Code::kUnimplemented, "try a later version of it",
                   "the plugin {} (PJRT {}) lacks a function that this needs", path_,
                   api_version());
}

std::string Plugin::api_version() const {
  return fmt::format("{}.{}", api_->version.major_version, api_->version.minor_version);
}

std::string Plugin::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return attribute.value;
  }
  return "";
}

Result<> Plugin::take(abi::Error* error) const {
  if (error == nullptr) return {};
  abi::ErrorGetCodeArgs code;
  code.error = error;
  if (api_->error_get_code(&code) != nullptr || code.code < 1 || code.code > 16) {
    code.code = static_cast<int>(Code::kUnknown);
  }
  abi::ErrorMessageArgs message;
  message.error = error;
  api_->error_message(&message);
  const std::string text = plain_message(std::string_view(message.message, message.message_size));
  abi::ErrorDestroyArgs destroy;
  destroy.error = error;
  api_->error_destroy(&destroy);
  return fail(static_cast<Code>(code.code), "{}", text);
}

Result<> Plugin::await(abi::Event* event) const {
  if (event == nullptr) return {};
  abi::EventAwaitArgs wait;
  wait.event = event;
  const Result<> result = call(&abi::Api::event_await, wait);
  abi::EventDestroyArgs destroy;
  destroy.event = event;
  HW_RETURN_IF_ERROR(call(&abi::Api::event_destroy, destroy));
  return result;
}

}  // namespace headwater::pjrt
