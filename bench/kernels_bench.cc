// Kernels at the shapes of an ELECTRA-small step (32 x 128 tokens, discriminator 12 x 256,
// generator 12 x 64, vocabulary 35,000), and what they add up to per step.
//
//   kernels_bench [--hw_threads=N] [google-benchmark options]
//
// The counter best_ms and the sums take the fastest call: CPU time of the calling thread on one
// thread (the default), which neighbours on the machine disturb least, and wall time otherwise. The
// PyTorch side is kernels_torch.py, with the same names.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "base/threefry.h"
#include "kernels/activation.h"
#include "kernels/adam.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/isa.h"
#include "kernels/layer_norm.h"
#include "kernels/linear.h"
#include "kernels/reduce.h"

namespace headwater::kernels {
namespace {

constexpr int64_t kBatch = 32, kTime = 128, kTokens = kBatch * kTime, kLayers = 12;

// Arrays of one benchmark, made when it runs.
class Arrays {
 public:
  float* floats(int64_t n, float scale = 1.0f) {
    float* const x = static_cast<float*>(bytes(n * 4));
    const Key key = Key::from_seed(++seed_);
    for (int64_t i = 0; i < n; ++i)
      x[i] = scale * (2.0f * key.uniform(static_cast<uint64_t>(i)) - 1.0f);
    return x;
  }
  int32_t* ids(int64_t n, uint64_t bound) {
    auto* const x = static_cast<int32_t*>(bytes(n * 4));
    const Key key = Key::from_seed(++seed_);
    for (int64_t i = 0; i < n; ++i)
      x[i] = static_cast<int32_t>(key.below(static_cast<uint64_t>(i), bound));
    return x;
  }
  void* bytes(int64_t n) {
    memory_.emplace_back(std::aligned_alloc(64, static_cast<size_t>(n + 63) / 64 * 64));
    return memory_.back().get();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<void, Free>> memory_;
  uint64_t seed_ = 0;
};

// A kernel at one shape: makes its arrays, returns the call to measure.
using Maker = std::function<std::function<void()>(Arrays&)>;

struct Entry {
  std::string name;
  int64_t calls;  // in one training step
  double gflop;   // of one call; 0 where bandwidth or bits decide
  Maker make;
};

void add_linear(std::vector<Entry>& list, std::string name, int64_t calls, int64_t in, int64_t out,
                bool gelu) {
  const LinearShape s{kTokens, in, out};
  const double gflop = 2e-9 * static_cast<double>(kTokens * in * out);
  list.push_back({name + "/forward", calls, gflop, [=](Arrays& a) {
                    float *x = a.floats(kTokens * in), *w = a.floats(in * out, 0.05f);
                    float *b = a.floats(out), *y = a.floats(kTokens * out);
                    float* d = gelu ? a.floats(kTokens * out) : nullptr;
                    void* ws = a.bytes(linear_workspace_bytes(s));
                    return [=] { linear_forward(s, x, w, y, ws, {b, gelu, d}); };
                  }});
  list.push_back({name + "/backward_input", calls, gflop, [=](Arrays& a) {
                    float *dy = a.floats(kTokens * out), *w = a.floats(in * out, 0.05f);
                    float* dx = a.floats(kTokens * in);
                    void* ws = a.bytes(linear_workspace_bytes(s));
                    return [=] { linear_backward_input(s, dy, w, 0.0f, dx, ws); };
                  }});
  list.push_back({name + "/backward_weight", calls, gflop, [=](Arrays& a) {
                    float *dy = a.floats(kTokens * out), *x = a.floats(kTokens * in);
                    float *dw = a.floats(in * out), *db = a.floats(out);
                    void* ws = a.bytes(linear_workspace_bytes(s));
                    return [=] { linear_backward_weight(s, dy, x, 0.0f, dw, db, ws); };
                  }});
}

void add_attention(std::vector<Entry>& list, std::string name, int64_t heads) {
  const int64_t hidden = heads * 64, n = kTokens * hidden;
  const AttentionShape s{kBatch, kTime, heads, 64, hidden, hidden};
  const Dropout dropout{Key::from_seed(1), 0.1f, 0};
  const double product = 2e-9 * static_cast<double>(kTokens * kTime * hidden);
  list.push_back({name + "/forward", kLayers, 2 * product, [=](Arrays& a) {
                    float *q = a.floats(n), *k = a.floats(n), *v = a.floats(n), *c = a.floats(n);
                    float* lse = a.floats(kTokens * heads);
                    void* ws = a.bytes(attention_workspace_bytes(s));
                    return [=] { attention_forward(s, q, k, v, nullptr, dropout, c, lse, ws); };
                  }});
  list.push_back({name + "/backward", kLayers, 5 * product, [=](Arrays& a) {
                    float *q = a.floats(n), *k = a.floats(n), *v = a.floats(n), *c = a.floats(n);
                    float *lse = a.floats(kTokens * heads), *d = a.floats(n);
                    float *dq = a.floats(n), *dk = a.floats(n), *dv = a.floats(n);
                    void* ws = a.bytes(attention_workspace_bytes(s));
                    attention_forward(s, q, k, v, nullptr, dropout, c, lse, ws);
                    return [=] {
                      attention_backward(s, q, k, v, nullptr, dropout, lse, d, dq, dk, dv, ws);
                    };
                  }});
}

void add_layer_norm(std::vector<Entry>& list, std::string name, int64_t hidden) {
  const LayerNormShape s{kTokens, hidden};
  const Dropout dropout{Key::from_seed(2), 0.1f, 0};
  const int64_t n = kTokens * hidden;
  list.push_back({name + "/forward", 2 * kLayers, 0, [=](Arrays& a) {
                    float *x = a.floats(n), *h = a.floats(n), *sum = a.floats(n), *y = a.floats(n);
                    float *gamma = a.floats(hidden), *beta = a.floats(hidden);
                    float *mean = a.floats(kTokens), *rstd = a.floats(kTokens);
                    return [=] {
                      residual_layer_norm_forward(s, x, h, dropout, gamma, beta, sum, y, mean,
                                                  rstd);
                    };
                  }});
  list.push_back({name + "/backward", 2 * kLayers, 0, [=](Arrays& a) {
                    float *sum = a.floats(n), *dy = a.floats(n), *dx = a.floats(n);
                    float *dh = a.floats(n), *gamma = a.floats(hidden);
                    float *mean = a.floats(kTokens), *rstd = a.floats(kTokens);
                    float *dg = a.floats(hidden), *db = a.floats(hidden);
                    void* ws = a.bytes(layer_norm_backward_workspace_bytes(s));
                    return [=] {
                      residual_layer_norm_backward(s, sum, dropout, gamma, mean, rstd, dy, dx, dh,
                                                   0.0f, dg, db, ws);
                    };
                  }});
}

void add_encoder(std::vector<Entry>& list, const std::string& name, int64_t hidden, int64_t heads) {
  add_linear(list, name + "/projection", 4 * kLayers, hidden, hidden, false);
  add_linear(list, name + "/intermediate", kLayers, hidden, 4 * hidden, true);
  add_linear(list, name + "/output", kLayers, 4 * hidden, hidden, false);
  add_attention(list, name + "/attention", heads);
  add_layer_norm(list, name + "/residual_layer_norm", hidden);
}

void add_vocabulary(std::vector<Entry>& list) {
  const VocabularyShape s{608, 128, 35000};
  const double product = 2e-9 * 608 * 128 * 35000;
  list.push_back({"vocabulary/forward", 1, product, [=](Arrays& a) {
                    float *h = a.floats(s.rows * s.hidden), *b = a.floats(s.vocabulary);
                    float* w = a.floats(s.vocabulary * s.hidden, 0.05f);
                    float *loss = a.floats(s.rows), *lse = a.floats(s.rows);
                    int32_t *t = a.ids(s.rows, 35000), *sample = a.ids(s.rows, 35000);
                    void* ws = a.bytes(vocabulary_cross_entropy_workspace_bytes(s));
                    const GumbelSampling g{Key::from_seed(3), 0, 1.0f, false, nullptr, sample};
                    return [=] {
                      vocabulary_cross_entropy_forward(s, h, w, b, t, {loss, lse}, &g, ws);
                    };
                  }});
  list.push_back({"vocabulary/backward", 1, 3 * product, [=](Arrays& a) {
                    float *h = a.floats(s.rows * s.hidden), *b = a.floats(s.vocabulary);
                    float* w = a.floats(s.vocabulary * s.hidden, 0.05f);
                    float *loss = a.floats(s.rows), *lse = a.floats(s.rows);
                    int32_t* t = a.ids(s.rows, 35000);
                    float *dl = a.floats(s.rows), *dh = a.floats(s.rows * s.hidden);
                    float *dw = a.floats(s.vocabulary * s.hidden), *db = a.floats(s.vocabulary);
                    void* ws = a.bytes(vocabulary_cross_entropy_workspace_bytes(s));
                    vocabulary_cross_entropy_forward(s, h, w, b, t, {loss, lse}, nullptr, ws);
                    return [=] {
                      vocabulary_cross_entropy_backward(s, h, w, b, t, lse, dl, dh, 0.0f, dw, db,
                                                        ws);
                    };
                  }});
}

void add_rest(std::vector<Entry>& list) {
  constexpr int64_t kParameters = 14'773'881, kEmbedding = 128;
  list.push_back({"embedding/forward", 2, 0, [](Arrays& a) {
                    int32_t *w = a.ids(kTokens, 35000), *t = a.ids(kTokens, 2);
                    float* out = a.floats(kTokens * kEmbedding);
                    const EmbeddingTables tables{a.floats(35000 * kEmbedding),
                                                 a.floats(kTime * kEmbedding),
                                                 a.floats(2 * kEmbedding)};
                    return [=] { embed_tokens(kBatch, kTime, kEmbedding, w, t, tables, out); };
                  }});
  list.push_back({"embedding/backward", 2, 0, [](Arrays& a) {
                    int32_t* ids = a.ids(kTokens, 35000);
                    float *dy = a.floats(kTokens * kEmbedding), *d = a.floats(35000 * kEmbedding);
                    void* ws = a.bytes(scatter_add_rows_workspace_bytes(kTokens));
                    return [=] { scatter_add_rows(kTokens, kEmbedding, ids, dy, d, ws); };
                  }});
  list.push_back({"embedding/dropout", 4, 0, [](Arrays& a) {
                    float *x = a.floats(kTokens * kEmbedding), *y = a.floats(kTokens * kEmbedding);
                    const Dropout dropout{Key::from_seed(4), 0.1f, 0};
                    return [=] { kernels::dropout(dropout, x, y, kTokens * kEmbedding); };
                  }});
  list.push_back({"optimizer/global_norm", 1, 0, [](Arrays& a) {
                    float* g = a.floats(kParameters);
                    void* ws = a.bytes(sum_workspace_bytes(kParameters));
                    return [=] { benchmark::DoNotOptimize(sum_of_squares(g, kParameters, ws)); };
                  }});
  list.push_back({"optimizer/adam", 1, 0, [](Arrays& a) {
                    float *g = a.floats(kParameters), *w = a.floats(kParameters);
                    float *m = a.floats(kParameters), *v = a.floats(kParameters);
                    for (int64_t i = 0; i < kParameters; ++i) v[i] = v[i] * v[i];
                    return [=] {
                      adam_update({.learning_rate = 1e-4f, .weight_decay = 0.01f}, kParameters, g,
                                  w, m, v);
                    };
                  }});
  list.push_back({"single/gelu_forward", 0, 0, [](Arrays& a) {
                    float *x = a.floats(kTokens * 1024, 3.0f), *y = a.floats(kTokens * 1024);
                    return [=] { gelu_forward(GeluForm::kErf, x, y, nullptr, kTokens * 1024); };
                  }});
  list.push_back({"single/dropout", 0, 0, [](Arrays& a) {
                    float *x = a.floats(kTokens * 256), *y = a.floats(kTokens * 256);
                    const Dropout dropout{Key::from_seed(4), 0.1f, 0};
                    return [=] { kernels::dropout(dropout, x, y, kTokens * 256); };
                  }});
}

// The usual table, and the sum over a step below it.
class StepReporter : public benchmark::ConsoleReporter {
 public:
  explicit StepReporter(const std::vector<Entry>& list)
      : ConsoleReporter(OO_Tabular), list_(list) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const auto found = run.counters.find("best_ms");
      if (found == run.counters.end()) continue;
      double& best = best_[run.run_name.function_name];
      best = best == 0.0 ? found->second.value : std::min(best, found->second.value);
    }
  }
  void Finalize() override {
    std::map<std::string, double> groups;
    double total = 0.0;
    for (const Entry& e : list_) {
      const double ms = best_[e.name] * static_cast<double>(e.calls);
      groups[e.name.substr(0, e.name.find('/'))] += ms;
      total += ms;
    }
    for (const auto& [group, ms] : groups) std::printf("step %-16s %9.1f ms\n", group.c_str(), ms);
    std::printf("step %-16s %9.1f ms\n", "total", total);
  }

 private:
  const std::vector<Entry>& list_;
  std::map<std::string, double> best_;
};

double now_ms(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

void measure(benchmark::State& state, const Entry& e, clockid_t clock) {
  Arrays arrays;
  const auto call = e.make(arrays);
  call();
  double best = 1e30;
  for (auto _ : state) {
    const double start = now_ms(clock);
    call();
    best = std::min(best, now_ms(clock) - start);
  }
  state.counters["best_ms"] = best;
  if (e.gflop > 0) state.counters["GFLOP/s"] = 1e3 * e.gflop / best;
}

int run(int argc, char** argv) {
  int threads = 1, kept = 0;
  constexpr std::string_view kFlag = "--hw_threads=";
  for (int i = 0; i < argc; ++i)
    if (std::string_view(argv[i]).starts_with(kFlag)) threads = std::atoi(argv[i] + kFlag.size());
    else argv[kept++] = argv[i];
  set_num_threads(threads);
  flush_denormals();
  std::vector<Entry> list;
  add_encoder(list, "discriminator", 256, 4);
  add_encoder(list, "generator", 64, 1);
  add_vocabulary(list);
  add_rest(list);
  const clockid_t clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  for (const Entry& e : list)
    benchmark::RegisterBenchmark(e.name.c_str(), [&e, clock](benchmark::State& state) {
      measure(state, e, clock);
    })->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&kept, argv);
  std::printf("%d threads, %s\n", threads, std::string(isa_name(active_isa())).c_str());
  StepReporter reporter(list);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return 0;
}

}  // namespace
}  // namespace headwater::kernels

int main(int argc, char** argv) { return headwater::kernels::run(argc, argv); }
