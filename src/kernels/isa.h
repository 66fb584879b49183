// Which instruction set the kernels run on. The widest one that the machine has is taken at the
// first call; the environment variable HEADWATER_MAX_ISA (sse4, avx2, avx512) caps it, and so do
// tests and benchmarks, which run every cap. Results differ between instruction sets by rounding
// only; on one set they do not depend on the number of threads.
#pragma once

#include <string_view>
#include <vector>

namespace headwater::kernels {

enum class Isa { kSse4, kAvx2, kAvx512 };

std::string_view isa_name(Isa isa);

// What this machine has, narrowest first; kSse4 is always there.
const std::vector<Isa>& supported_isas();

// What the kernels use now.
Isa active_isa();

// Caps the set for all later calls of the process; not while a kernel runs.
void set_max_isa(Isa cap);

// Applies HEADWATER_MAX_ISA once; every kernel entry point calls it.
void ensure_isa();

}  // namespace headwater::kernels
