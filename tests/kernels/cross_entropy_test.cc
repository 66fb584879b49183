#include "kernels/cross_entropy.h"

#include <cmath>

#include "kernel_testing.h"

namespace headwater::kernels {
namespace {

struct Problem {
  VocabularyShape shape;
  Floats h, weight, bias, d_loss;
  std::vector<int32_t> targets;

  // Whole numbers make logits exact in float32 in any order of summation.
  Problem(int64_t rows, int64_t hidden, int64_t vocabulary, bool whole = false)
      : shape{rows, hidden, vocabulary},
        h(random_floats(rows * hidden, 1, -3.0f, 3.0f)),
        weight(random_floats(vocabulary * hidden, 2, -1.5f, 1.5f)),
        bias(random_floats(vocabulary, 3)),
        d_loss(random_floats(rows, 4, 0.0f, 0.1f)),
        targets(random_ints(rows, 5, static_cast<int32_t>(vocabulary))) {
    if (!whole) return;
    for (Floats* x : {&h, &weight, &bias})
      for (auto& value : *x) value = std::round(value);
  }

  double logit(int64_t m, int64_t v) const {
    double sum = bias[static_cast<size_t>(v)];
    for (int64_t e = 0; e < shape.hidden; ++e)
      sum += double{h[static_cast<size_t>(m * shape.hidden + e)]} *
             double{weight[static_cast<size_t>(v * shape.hidden + e)]};
    return sum;
  }
};

struct Reference {
  std::vector<double> loss, log_sum_exp, prediction, dh, d_weight, d_bias;
};

Reference reference(const Problem& p) {
  Reference r;
  r.dh.resize(p.h.size());
  r.d_weight.resize(p.weight.size(), 0.5);
  r.d_bias.resize(p.bias.size(), 0.5);
  for (int64_t m = 0; m < p.shape.rows; ++m) {
    std::vector<double> z;
    for (int64_t v = 0; v < p.shape.vocabulary; ++v) z.push_back(p.logit(m, v));
    const auto top = std::max_element(z.begin(), z.end());
    double sum = 0.0;
    for (const double l : z) sum += std::exp(l - *top);
    const auto target = static_cast<size_t>(p.targets[static_cast<size_t>(m)]);
    r.log_sum_exp.push_back(*top + std::log(sum));
    r.loss.push_back(r.log_sum_exp.back() - z[target]);
    r.prediction.push_back(static_cast<double>(top - z.begin()));
    for (size_t v = 0; v < z.size(); ++v) {
      const double d = (std::exp(z[v] - r.log_sum_exp.back()) - (v == target ? 1.0 : 0.0)) *
                       double{p.d_loss[static_cast<size_t>(m)]};
      r.d_bias[v] += d;
      for (int64_t e = 0; e < p.shape.hidden; ++e) {
        const auto at_h = static_cast<size_t>(m * p.shape.hidden + e);
        const size_t at_w = v * static_cast<size_t>(p.shape.hidden) + static_cast<size_t>(e);
        r.dh[at_h] += d * double{p.weight[at_w]};
        r.d_weight[at_w] += d * double{p.h[at_h]};
      }
    }
  }
  return r;
}

Floats run(const Problem& p) {
  const auto rows = static_cast<size_t>(p.shape.rows);
  Floats loss(rows), lse(rows), dh(p.h.size()), d_weight(p.weight.size(), 0.5f);
  Floats d_bias(p.bias.size(), 0.5f);
  std::vector<int32_t> prediction(rows);
  TestWorkspace workspace(vocabulary_cross_entropy_workspace_bytes(p.shape));
  vocabulary_cross_entropy_forward(p.shape, p.h.data(), p.weight.data(), p.bias.data(),
                                   p.targets.data(), {loss.data(), lse.data(), prediction.data()},
                                   nullptr, workspace.data());
  vocabulary_cross_entropy_backward(p.shape, p.h.data(), p.weight.data(), p.bias.data(),
                                    p.targets.data(), lse.data(), p.d_loss.data(), dh.data(), 1.0f,
                                    d_weight.data(), d_bias.data(), workspace.data());
  append(loss, lse);
  append(loss, Floats(prediction.begin(), prediction.end()));
  for (const Floats& part : {dh, d_weight, d_bias}) append(loss, part);
  return loss;
}

void check(const Problem& p) {
  SCOPED_TRACE(testing::Message() << p.shape.rows << " x " << p.shape.hidden << " x "
                                  << p.shape.vocabulary);
  const Reference r = reference(p);
  const auto rows = p.shape.rows, n_h = static_cast<int64_t>(p.h.size());
  const auto n_w = static_cast<int64_t>(p.weight.size());
  on_every_isa([&] { return run(p); },
               [&](const Floats& out) {
                 expect_near(slice(out, 0, rows), r.loss, 1e-5, "loss");
                 expect_near(slice(out, rows, rows), r.log_sum_exp, 1e-5, "log_sum_exp");
                 expect_near(slice(out, 2 * rows, rows), r.prediction, 0.0, "prediction");
                 expect_near(slice(out, 3 * rows, n_h), r.dh, 1e-5, "dh");
                 expect_near(slice(out, 3 * rows + n_h, n_w), r.d_weight, 1e-5, "d_weight");
                 expect_near(slice(out, 3 * rows + n_h + n_w, p.shape.vocabulary), r.d_bias, 1e-5,
                             "d_bias");
               });
}

TEST(VocabularyCrossEntropy, ForwardAndBackward) {
  check({1, 4, 5});
  check({7, 8, 100});
  check({19, 13, 777});
  check({120, 32, 600});
  check({10, 300, 1000});
  check({3, 16, 5000});
}

// The plain definition on whole-number logits.
std::vector<int32_t> plain_samples(const Problem& p, const GumbelSampling& sampling) {
  std::vector<int32_t> samples;
  for (int64_t m = 0; m < p.shape.rows; ++m) {
    const int64_t vocabulary = p.shape.vocabulary;
    Floats noise(static_cast<size_t>(vocabulary));
    gumbel_noise(sampling.key, sampling.offset + static_cast<uint64_t>(m * vocabulary),
                 noise.data(), vocabulary);
    int32_t best = 0;
    float best_value = -INFINITY;
    for (int64_t v = 0; v < vocabulary; ++v) {
      auto logit = static_cast<float>(p.logit(m, v));
      if (sampling.disallow_correct && v == p.targets[static_cast<size_t>(m)]) logit -= 1000.0f;
      const float value = logit / sampling.temperature + noise[static_cast<size_t>(v)];
      if (value > best_value) best_value = value, best = static_cast<int32_t>(v);
    }
    samples.push_back(best);
  }
  return samples;
}

void check_samples(const Problem& p, GumbelSampling sampling) {
  SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature);
  std::vector<int32_t> expected;
  on_every_isa(
      [&] {
        const auto rows = static_cast<size_t>(p.shape.rows);
        Floats loss(rows), lse(rows);
        std::vector<int32_t> sample(rows);
        sampling.sample = sample.data();
        TestWorkspace workspace(vocabulary_cross_entropy_workspace_bytes(p.shape));
        vocabulary_cross_entropy_forward(p.shape, p.h.data(), p.weight.data(), p.bias.data(),
                                         p.targets.data(), {loss.data(), lse.data()}, &sampling,
                                         workspace.data());
        expected = plain_samples(p, sampling);
        return Floats(sample.begin(), sample.end());
      },
      [&](const Floats& sample) { EXPECT_EQ(Floats(expected.begin(), expected.end()), sample); });
}

TEST(GumbelSampling, EqualsThePlainDefinition) {
  Problem flat(40, 3, 3001, true), peaked(40, 30, 3001, true);
  for (size_t m = 0; m < 20; ++m) {  // targets far above everything else
    peaked.targets[m] = static_cast<int32_t>(m);
    peaked.bias[m] = 300.0f;
  }
  for (const float temperature : {1.0f, 0.5f, 2.0f})
    for (const bool disallow : {false, true}) {
      const GumbelSampling sampling{Key::from_seed(3), 77, temperature, disallow};
      check_samples(flat, sampling);
      check_samples(peaked, sampling);
    }
}

TEST(GumbelSampling, FrequenciesFollowTheSoftmax) {
  Problem p(4000, 1, 6);
  std::fill(p.h.begin(), p.h.end(), 1.0f);
  std::vector<int32_t> sample(4000);
  GumbelSampling sampling{Key::from_seed(8)};
  sampling.sample = sample.data();
  Floats lse(4000);
  TestWorkspace workspace(vocabulary_cross_entropy_workspace_bytes(p.shape));
  vocabulary_cross_entropy_forward(p.shape, p.h.data(), p.weight.data(), p.bias.data(),
                                   p.targets.data(), {nullptr, lse.data()}, &sampling,
                                   workspace.data());
  for (int32_t v = 0; v < 6; ++v) {
    const double share = static_cast<double>(std::count(sample.begin(), sample.end(), v)) / 4000.0;
    EXPECT_NEAR(std::exp(p.logit(0, v) - double{lse[0]}), share, 0.03);
  }
}

TEST(GumbelSampling, GivenDrawsReplaceTheKey) {
  const Problem p(30, 8, 500, true);
  const Floats uniforms = random_floats(30 * 500, 6, 0.0f, 1.0f);
  std::vector<int32_t> expected;
  for (int64_t m = 0; m < 30; ++m) {
    std::vector<double> value;
    for (int64_t v = 0; v < 500; ++v) {
      const double u = uniforms[static_cast<size_t>(m * 500 + v)];
      value.push_back(p.logit(m, v) - std::log(-std::log(u + 1e-9) + 1e-9));
    }
    expected.push_back(
        static_cast<int32_t>(std::max_element(value.begin(), value.end()) - value.begin()));
  }
  on_every_isa(
      [&] {
        Floats loss(30), lse(30);
        std::vector<int32_t> sample(30);
        const GumbelSampling sampling{{}, 0, 1.0f, false, uniforms.data(), sample.data()};
        TestWorkspace workspace(vocabulary_cross_entropy_workspace_bytes(p.shape));
        vocabulary_cross_entropy_forward(p.shape, p.h.data(), p.weight.data(), p.bias.data(),
                                         p.targets.data(), {loss.data(), lse.data()}, &sampling,
                                         workspace.data());
        return Floats(sample.begin(), sample.end());
      },
      [&](const Floats& sample) { EXPECT_EQ(Floats(expected.begin(), expected.end()), sample); });
}

TEST(GumbelSampling, NoiseIsTheFormulaOnTheUniformDraws) {
  const Key key = Key::from_seed(12);
  std::vector<double> expected;
  for (uint64_t i = 0; i < 5003; ++i) {
    const double u = double{key.uniform(9 + i)};
    expected.push_back(-std::log(-std::log(u + 1e-9) + 1e-9));
  }
  on_every_isa(
      [&] {
        Floats noise(5003);
        gumbel_noise(key, 9, noise.data(), 5003);
        return noise;
      },
      [&](const Floats& noise) { expect_near(noise, expected, 2e-6); });
}

TEST(SoftmaxCrossEntropy, OnLogitsThatExist) {
  const int64_t rows = 21, classes = 45;
  const Floats z = random_floats(rows * classes, 1, -8.0f, 8.0f), d_loss = random_floats(rows, 2);
  const auto targets = random_ints(rows, 3, 45);
  std::vector<double> loss, gradient;
  for (int64_t m = 0; m < rows; ++m) {
    double sum = 0.0;
    for (int64_t j = 0; j < classes; ++j)
      sum += std::exp(double{z[static_cast<size_t>(m * classes + j)]});
    const int32_t target = targets[static_cast<size_t>(m)];
    loss.push_back(std::log(sum) - double{z[static_cast<size_t>(m * classes + target)]});
    for (int64_t j = 0; j < classes; ++j)
      gradient.push_back((std::exp(double{z[static_cast<size_t>(m * classes + j)]}) / sum -
                          (j == target ? 1.0 : 0.0)) *
                         double{d_loss[static_cast<size_t>(m)]});
  }
  on_every_isa(
      [&] {
        Floats out(static_cast<size_t>(rows)), lse(out.size()), d(z.size());
        softmax_cross_entropy_forward(rows, classes, z.data(), targets.data(), out.data(),
                                      lse.data());
        softmax_cross_entropy_backward(rows, classes, z.data(), targets.data(), lse.data(),
                                       d_loss.data(), d.data());
        append(out, d);
        return out;
      },
      [&](const Floats& out) {
        expect_near(slice(out, 0, rows), loss, 2e-6, "loss");
        expect_near(slice(out, rows, rows * classes), gradient, 2e-6, "gradient");
      });
}

TEST(SigmoidCrossEntropy, LossAndDerivative) {
  const int64_t n = 1003;
  Floats z = random_floats(n, 1, -30.0f, 30.0f);
  z[0] = 500.0f, z[1] = -500.0f, z[2] = 0.0f;
  const Floats weights = random_floats(n, 2, 0.0f, 2.0f);
  Floats labels(z.size());
  std::vector<double> loss, derivative;
  for (size_t i = 0; i < z.size(); ++i) {
    labels[i] = static_cast<float>(i % 3 == 0);
    const double x = z[i], y = labels[i], w = weights[i];
    loss.push_back(w * (std::max(x, 0.0) - x * y + std::log1p(std::exp(-std::abs(x)))));
    derivative.push_back(w * (1.0 / (1.0 + std::exp(-x)) - y));
  }
  on_every_isa(
      [&] {
        Floats out(z.size()), d(z.size());
        sigmoid_cross_entropy(n, z.data(), labels.data(), weights.data(), out.data(), d.data());
        append(out, d);
        return out;
      },
      [&](const Floats& out) {
        for (size_t i = 0; i < loss.size(); ++i)  // small losses too are accurate
          EXPECT_NEAR(loss[i], double{out[i]}, 1e-6 * loss[i] + 1e-37);
        expect_near(slice(out, n, n), derivative, 1e-6, "derivative");
      });
}

}  // namespace
}  // namespace headwater::kernels
