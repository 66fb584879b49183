// Errors as values: every call that can fail on user data returns a Result.
//
// An Error says what failed (message), where (file, record, tensor: outermost first) and what to do
// (hint). Codes carry the canonical numbers 0-16 shared by PJRT and gRPC, so that they map one to
// one later. HW_CHECK is for bugs of ours only: it prints and aborts, and nothing a user feeds in
// may reach it.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace headwater {

enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

std::string_view code_name(Code code);

struct [[nodiscard]] Error {
  Code code = Code::kUnknown;
  std::string message;             // what failed, in the words of the person at the terminal
  std::string hint;                // what to do; may be empty
  std::vector<std::string> where;  // context, outermost first: file, record, tensor

  // One line: "where: where: message; hint".
  std::string to_string() const;
};

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base base) : Base(std::move(base)) {}
};

// Usage: return fail(Code::kDataLoss, "record {} is truncated", n);
template <class... Args>
tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(
      Error{code, fmt::format(format, std::forward<Args>(args)...), {}, {}});
}

// The same with advice: return fail_hint(Code::kNotFound, "run ... first", "no vocabulary at {}",
// path);
template <class... Args>
tl::unexpected<Error> fail_hint(Code code, std::string hint, fmt::format_string<Args...> format,
                                Args&&... args) {
  return tl::unexpected<Error>(
      Error{code, fmt::format(format, std::forward<Args>(args)...), std::move(hint), {}});
}

// Puts the name of a file, record or tensor in front of an error on its way up.
inline tl::unexpected<Error> in_context(Error error, std::string where) {
  error.where.insert(error.where.begin(), std::move(where));
  return tl::unexpected<Error>(std::move(error));
}

// Error of the last failed system call (errno): maps ENOENT, EACCES, ENOSPC ... to codes.
Error system_error(int error_number, std::string_view what, std::string_view path);

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace headwater

#define HW_CONCAT_(a, b) a##b
#define HW_CONCAT(a, b) HW_CONCAT_(a, b)

#define HW_RETURN_IF_ERROR(expression)                                           \
  do {                                                                           \
    if (auto hw_status = (expression); !hw_status) {                             \
      return ::tl::unexpected<::headwater::Error>(std::move(hw_status).error()); \
    }                                                                            \
  } while (false)

#define HW_ASSIGN_OR_RETURN(declaration, expression) \
  HW_ASSIGN_OR_RETURN_(HW_CONCAT(hw_result_, __LINE__), declaration, expression)
#define HW_ASSIGN_OR_RETURN_(result, declaration, expression)                          \
  auto result = (expression);                                                          \
  if (!result) return ::tl::unexpected<::headwater::Error>(std::move(result).error()); \
  declaration = *std::move(result)

#define HW_CHECK(condition, ...)                                                                \
  do {                                                                                          \
    if (!(condition))                                                                           \
      ::headwater::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
