// One parallel_for over OpenMP: the only place that knows the thread runtime.
//
// The range is cut into chunks of `grain` that do not depend on the number of threads, so a kernel
// that reduces per chunk and then over chunks in order gives the same bits on any number of
// threads.
#pragma once

#include <cstdint>

namespace headwater {

// Threads of all later parallel_for calls of the process; n < 1 means one per available core.
void set_num_threads(int n);
int num_threads();

// A borrowed body(begin, end): a std::function would take memory at every call.
class RangeBody {
 public:
  template <class F>
  explicit RangeBody(const F& body)
      : body_(&body), call_([](const void* f, int64_t begin, int64_t end) {
          (*static_cast<const F*>(f))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void*, int64_t, int64_t);
};
void parallel_for_range(int64_t n, int64_t grain, RangeBody body);

// Calls body(begin, end) for chunks of [0, n) of `grain` elements, on all threads. Runs inline when
// there is one chunk or one thread, or inside another parallel_for. body must not throw.
template <class F>
void parallel_for(int64_t n, int64_t grain, const F& body) {
  parallel_for_range(n, grain, RangeBody(body));
}

// Index of the calling thread in [0, num_threads()), for scratch memory per thread; 0 outside a
// parallel_for, and the outer index when a parallel_for runs inline inside another one.
int thread_index();

// Denormals to zero for this thread (and threads created by it): training values underflow in
// Adam's moments.
void flush_denormals();

}  // namespace headwater
