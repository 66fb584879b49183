#include "base/threads.h"

#include <omp.h>
#include <xmmintrin.h>

#include <algorithm>

#include "base/checked.h"

namespace headwater {
namespace {
int g_num_threads = 0;
constexpr unsigned kFlushToZeroAndDenormalsAreZero = 0x8040;
}  // namespace

void set_num_threads(int n) {
  g_num_threads = n < 1 ? omp_get_num_procs() : n;
  omp_set_num_threads(g_num_threads);
}

int num_threads() { return g_num_threads < 1 ? omp_get_num_procs() : g_num_threads; }

void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t chunks = ceil_div(n, grain);
  if (chunks == 1 || num_threads() == 1 || omp_in_parallel()) {
    for (int64_t c = 0; c < chunks; ++c) body(c * grain, std::min(n, (c + 1) * grain));
    return;
  }
  const auto csr = _mm_getcsr() & kFlushToZeroAndDenormalsAreZero;
#pragma omp parallel num_threads(num_threads())
  {
    // Pool threads keep their own control register: give them the caller's denormal mode.
    _mm_setcsr((_mm_getcsr() & ~kFlushToZeroAndDenormalsAreZero) | csr);
#pragma omp for schedule(dynamic, 1)
    for (int64_t c = 0; c < chunks; ++c) body(c * grain, std::min(n, (c + 1) * grain));
  }
}

void flush_denormals() { _mm_setcsr(_mm_getcsr() | kFlushToZeroAndDenormalsAreZero); }

}  // namespace headwater
