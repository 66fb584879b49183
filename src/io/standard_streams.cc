#include "io/standard_streams.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headwater {
namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;  // the kernel moves less than 2 GiB a call

class InputSource : public ByteSource {
 public:
  Result<size_t> read(std::span<uint8_t> out) override {
    while (true) {
      const ssize_t n = ::read(STDIN_FILENO, out.data(), std::min(out.size(), kMaxTransfer));
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR)
        return tl::unexpected<Error>(system_error(errno, "cannot read", "standard input"));
    }
  }
};

class OutputSink : public ByteSink {
 public:
  Result<> write(std::span<const uint8_t> data) override {
    while (!data.empty()) {
      const ssize_t n = ::write(STDOUT_FILENO, data.data(), std::min(data.size(), kMaxTransfer));
      if (n >= 0) {
        data = data.subspan(static_cast<size_t>(n));
      } else if (errno != EINTR) {
        return tl::unexpected<Error>(system_error(errno, "cannot write", "standard output"));
      }
    }
    return {};
  }
  Result<> close() override { return {}; }
};

}  // namespace

std::unique_ptr<ByteSource> standard_input() { return std::make_unique<InputSource>(); }
std::unique_ptr<ByteSink> standard_output() { return std::make_unique<OutputSink>(); }

}  // namespace headwater
