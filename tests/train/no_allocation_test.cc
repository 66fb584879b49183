// A training step takes no memory after the first: every allocation of the process is counted while
// a program runs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/threads.h"
#include "executors/executor.h"
#include "models/scope.h"
#include "train/train_step.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HW_COUNTS_ALLOCATIONS 0  // the sanitizer's own operator new stays
#else
#define HW_COUNTS_ALLOCATIONS 1

namespace {
std::atomic<bool> g_counting{false};
std::atomic<int64_t> g_allocations{0};

void* counted(size_t size, size_t alignment) {
  if (g_counting) ++g_allocations;
  void* const p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new[](size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(size_t size, std::align_val_t a) {
  return counted(size, static_cast<size_t>(a));
}
void* operator new[](size_t size, std::align_val_t a) {
  return counted(size, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace headwater {
namespace {

TEST(NoAllocation, OfAStepAfterTheFirst) {
#if HW_COUNTS_ALLOCATIONS
  set_num_threads(2);
  ElectraGraphOptions options;
  ElectraConfig& d = options.discriminator;
  d.vocab_size = 64;
  d.embedding_size = 16;
  d.hidden_size = 32;
  d.num_hidden_layers = 2;
  d.num_attention_heads = 4;
  d.intermediate_size = 64;
  d.max_position_embeddings = 16;
  options.generator = d;
  options.generator.hidden_size = 16;
  options.sizes = {4, 16, 3};
  Graph graph;
  const auto built = build_train_graph(electra_step(options), {}, graph);
  ASSERT_TRUE(built) << built.error().to_string();
  const auto executor = *Executor::open("cpu");
  const auto store = executor->make_store();
  for (const Parameter& p : built->parameters) {
    ASSERT_TRUE(store->set(p.name, initial_value(p.name, p.value.shape(), p.init, 1)));
  }
  const auto program = *executor->compile(graph, *store);
  ASSERT_TRUE(program->run());
  g_counting = true;
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(program->run());
  g_counting = false;
  EXPECT_EQ(g_allocations, 0);

  g_counting = true;  // the counter counts
  ::operator delete(::operator new(100));
  g_counting = false;
  EXPECT_EQ(g_allocations, 1);
#else
  GTEST_SKIP() << "a sanitizer's allocator is in use";
#endif
}

}  // namespace
}  // namespace headwater
