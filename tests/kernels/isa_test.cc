#include "kernels/isa.h"

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

TEST(Isa, EveryCapIsObeyed) {
  ASSERT_FALSE(supported_isas().empty());
  EXPECT_EQ(Isa::kSse4, supported_isas().front());
  for (const Isa isa : supported_isas()) {
    set_max_isa(isa);
    EXPECT_EQ(isa, active_isa()) << isa_name(isa);
  }
  set_max_isa(Isa::kAvx512);
  EXPECT_EQ(supported_isas().back(), active_isa());
}

}  // namespace
}  // namespace headwater::kernels
