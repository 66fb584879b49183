// Errors as values: texts, contexts, propagation, system errors.
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "base/checked.h"
#include "base/digest.h"

namespace headwater {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail_hint(Code::kInvalidArgument, "take an even one", "{} is odd", n);
  return n / 2;
}
Result<int> quarter(int n) {
  HW_ASSIGN_OR_RETURN(const int once, half(n));
  auto twice = half(once);
  if (!twice) return in_context(std::move(twice).error(), fmt::format("half of {}", n));
  return twice;
}
Result<> check_quarter(int n) {
  HW_RETURN_IF_ERROR(quarter(n));
  return {};
}
Result<std::unique_ptr<int>> owned() { return std::make_unique<int>(3); }
Result<int> take() {
  HW_ASSIGN_OR_RETURN(auto pointer, owned());
  return *pointer;
}

TEST(Error, TravelsWithContextAndHint) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(7).error().to_string(), "7 is odd; take an even one");
  const auto error = in_context(quarter(6).error(), "file.txt").value();
  EXPECT_EQ(error.to_string(), "file.txt: half of 6: 3 is odd; take an even one");
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_FALSE(check_quarter(6));
  EXPECT_TRUE(check_quarter(4));
  EXPECT_EQ(take().value(), 3);
}

TEST(Error, SystemErrorsHaveCodes) {
  EXPECT_EQ(system_error(ENOENT, "read", "x").code, Code::kNotFound);
  EXPECT_EQ(system_error(ENOENT, "read", "x").to_string(),
            "cannot read x: No such file or directory");
  EXPECT_EQ(system_error(EACCES, "write", "x").code, Code::kPermissionDenied);
  EXPECT_EQ(system_error(ENOSPC, "write", "x").code, Code::kResourceExhausted);
  EXPECT_EQ(system_error(EEXIST, "make", "x").code, Code::kAlreadyExists);
  EXPECT_EQ(system_error(EIO, "read", "x").code, Code::kUnknown);
}

TEST(Error, CodesHaveTheCanonicalNumbers) {
  EXPECT_EQ(static_cast<int>(Code::kNotFound), 5);
  EXPECT_EQ(static_cast<int>(Code::kDataLoss), 15);
  EXPECT_EQ(static_cast<int>(Code::kUnauthenticated), 16);
  EXPECT_EQ(code_name(Code::kDataLoss), "data loss");
  EXPECT_EQ(code_name(static_cast<Code>(99)), "unknown");
}

TEST(Checked, OverflowIsNoValue) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_mul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul(-4, 5), -20);
  EXPECT_EQ(round_up(13, 8), 16);
  EXPECT_EQ(ceil_div(16, 8), 2);
}

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  pieces.update("a");
  pieces.update("bc");
  EXPECT_EQ(pieces.hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace headwater
