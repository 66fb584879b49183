#include "base/error.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace headwater {

std::string_view code_name(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {"ok",
                                                              "cancelled",
                                                              "unknown",
                                                              "invalid argument",
                                                              "deadline exceeded",
                                                              "not found",
                                                              "already exists",
                                                              "permission denied",
                                                              "resource exhausted",
                                                              "failed precondition",
                                                              "aborted",
                                                              "out of range",
                                                              "unimplemented",
                                                              "internal",
                                                              "unavailable",
                                                              "data loss",
                                                              "unauthenticated"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string Error::to_string() const {
  std::string text;
  for (const std::string& part : where) text += part + ": ";
  text += message;
  if (!hint.empty()) text += "; " + hint;
  return text;
}

Error system_error(int error_number, std::string_view what, std::string_view path) {
  Code code = Code::kUnknown;
  std::string hint;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: code = Code::kNotFound; break;
    case EACCES:
    case EPERM:
    case EROFS: code = Code::kPermissionDenied; break;
    case EEXIST:
    case ENOTEMPTY: code = Code::kAlreadyExists; break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = Code::kResourceExhausted;
      hint = "free some space and run again";
      break;
    case EMFILE:
    case ENFILE:
    case ENOMEM: code = Code::kResourceExhausted; break;
    case EISDIR:
    case EINVAL: code = Code::kInvalidArgument; break;
    default: break;
  }
  char buffer[256];
  const char* text = strerror_r(error_number, buffer, sizeof buffer);
  return Error{code, fmt::format("cannot {} {}: {}", what, path, text), std::move(hint), {}};
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "headwater: bug at %s:%d: %s%s%s\n", file, line, condition,
               message.empty() ? "" : ": ", message.c_str());
  std::abort();
}

}  // namespace headwater
