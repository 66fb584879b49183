#include "models/scope.h"

#include <cmath>
#include <numbers>

#include "base/crc32c.h"
#include "base/threads.h"
#include "base/threefry.h"

namespace headwater {

Value ParameterTree::add(std::string name, Shape shape, Initializer init, bool may_exist) {
  const Type type{DType::kF32, std::move(shape)};
  if (may_exist) {
    if (const GraphInput* found = graph_->find_input(name + state_suffix_)) {
      if (found->value.type() == type) return found->value;
      throw GraphError(fmt::format("{} is {} in one place and {} in another", name,
                                   found->value.type().text(), type.text()));
    }
  }
  const Value value = graph_->input(name + state_suffix_, type, /*is_state=*/true);
  parameters_.push_back({std::move(name), value, init});
  return value;
}

std::string Scope::join(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Scope Scope::operator/(std::string_view name) const {
  Scope below(*tree_, join(name));
  below.shared_ = shared_;
  graph().set_scope(below.path_);
  return below;
}

Scope Scope::shared() const {
  Scope same = *this;
  same.shared_ = true;
  return same;
}

Scope Scope::operator/(int64_t index) const { return *this / fmt::format("{}", index); }

Value Scope::param(std::string_view name, Shape shape, Initializer init) const {
  return tree_->add(join(name), std::move(shape), init, shared_);
}

int64_t Scope::site(std::string_view name) const { return crc32c(join(name)); }

namespace {

// Standard normal by Box and Muller (1958).
double standard_normal(Key key, uint64_t index) {
  const auto word = threefry2x32(key.k0, key.k1, static_cast<uint32_t>(index >> 32),
                                 static_cast<uint32_t>(index));
  const double u1 = (static_cast<double>(word.x0) + 1) * 0x1p-32;  // (0, 1]
  const double u2 = static_cast<double>(word.x1) * 0x1p-32;
  return std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
}

// The same, drawn again beyond two standard deviations.
double truncated_normal(Key key, uint64_t index) {
  for (uint32_t attempt = 0;; ++attempt) {
    const double z = standard_normal(key.fold_in(attempt), index);
    if (std::fabs(z) <= 2) return z;
  }
}

}  // namespace

Tensor initial_value(std::string_view name, const Shape& shape, Initializer init, uint64_t seed) {
  Tensor tensor(DType::kF32, shape);
  const Key key = Key::from_seed(seed).fold_in("init").fold_in(name);
  const auto values = tensor.as<float>();
  const auto fill = [&](auto value_of) {
    parallel_for(tensor.size(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        values[static_cast<size_t>(i)] = value_of(static_cast<uint64_t>(i));
      }
    });
  };
  switch (init.kind) {
    case Initializer::Kind::kZeros: break;
    case Initializer::Kind::kOnes: fill([](uint64_t) { return 1.0f; }); break;
    case Initializer::Kind::kNormal: {
      const auto stddev = static_cast<float>(init.stddev);
      fill([=](uint64_t i) { return stddev * static_cast<float>(standard_normal(key, i)); });
      if (init.zero_row >= 0) {
        const int64_t width = shape.back();
        std::fill_n(values.begin() + init.zero_row * width, width, 0.0f);
      }
      break;
    }
    case Initializer::Kind::kTruncatedNormal: {
      const auto stddev = static_cast<float>(init.stddev);
      fill([=](uint64_t i) { return stddev * static_cast<float>(truncated_normal(key, i)); });
      break;
    }
    case Initializer::Kind::kGlorotUniform: {
      const double fans = static_cast<double>(shape.front() + shape.back());
      const auto limit = static_cast<float>(std::sqrt(6 / fans));
      fill([=](uint64_t i) { return limit * (2 * key.uniform(i) - 1); });
      break;
    }
  }
  return tensor;
}

}  // namespace headwater
