#include "base/threads.h"

#include <omp.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/checked.h"

namespace headwater {
namespace {
int g_num_threads = 0;
constexpr unsigned kFlushToZeroAndDenormalsAreZero = 0x8040;

#ifdef __SANITIZE_THREAD__
// The thread sanitizer does not see the barriers of libgomp and would call every loop a race: it
// gets plain threads.
thread_local bool t_in_parallel = false;
thread_local int t_index = 0;
bool in_parallel() { return t_in_parallel; }
int current_index() { return t_index; }

template <class Body>
void for_all_chunks(int64_t chunks, unsigned csr, const Body& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&](int index) {
    t_index = index;
    _mm_setcsr((_mm_getcsr() & ~kFlushToZeroAndDenormalsAreZero) | csr);
    t_in_parallel = true;
    for (int64_t c = next++; c < chunks; c = next++) body(c);
    t_in_parallel = false;
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < num_threads(); ++t) others.emplace_back(work, t);
  work(0);
}
#else
bool in_parallel() { return omp_in_parallel() != 0; }
int current_index() { return omp_get_thread_num(); }

template <class Body>
void for_all_chunks(int64_t chunks, unsigned csr, const Body& body) {
#pragma omp parallel num_threads(num_threads())
  {
    // Pool threads keep their own control register: give them the caller's denormal mode.
    _mm_setcsr((_mm_getcsr() & ~kFlushToZeroAndDenormalsAreZero) | csr);
#pragma omp for schedule(dynamic, 1)
    for (int64_t c = 0; c < chunks; ++c) body(c);
  }
}
#endif
}  // namespace

void set_num_threads(int n) {
  g_num_threads = n < 1 ? omp_get_num_procs() : n;
  omp_set_num_threads(g_num_threads);
}

int num_threads() { return g_num_threads < 1 ? omp_get_num_procs() : g_num_threads; }

int thread_index() { return current_index(); }

void parallel_for_range(int64_t n, int64_t grain, RangeBody body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t chunks = ceil_div(n, grain);
  const auto chunk = [&](int64_t c) { body(c * grain, std::min(n, (c + 1) * grain)); };
  if (chunks == 1 || num_threads() == 1 || in_parallel()) {
    for (int64_t c = 0; c < chunks; ++c) chunk(c);
    return;
  }
  for_all_chunks(chunks, _mm_getcsr() & kFlushToZeroAndDenormalsAreZero, chunk);
}

void flush_denormals() { _mm_setcsr(_mm_getcsr() | kFlushToZeroAndDenormalsAreZero); }

}  // namespace headwater
