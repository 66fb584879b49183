// The graph level: a model of one's own. Fits y = a x + b by gradient descent; everything, the
// update included, is one graph.
#include <headwater/headwater.h>

#include <cstdio>

namespace hw = headwater;

namespace {

hw::Result<> run() {
  hw::Graph graph;
  const hw::Value x = graph.input("x", {hw::DType::kF32, {8}}, /*is_state=*/false);
  const hw::Value y = graph.input("y", {hw::DType::kF32, {8}}, false);
  const hw::Value a = graph.input("a", {hw::DType::kF32, {}}, /*is_state=*/true);
  const hw::Value b = graph.input("b", {hw::DType::kF32, {}}, true);
  const hw::Value error = a * x + b - y;
  const hw::Value loss = sum_all(error * error);
  const auto grads = hw::gradients(loss, {a, b});
  const hw::Value rate = hw::constant(graph, 0.004);
  graph.update(a, a - rate * grads[0]);
  graph.update(b, b - rate * grads[1]);
  graph.output("loss", loss);

  HW_ASSIGN_OR_RETURN(const auto executor, hw::Executor::open("cpu"));
  const auto store = executor->make_store();
  HW_ASSIGN_OR_RETURN(const auto program, executor->compile(graph, *store));
  hw::Tensor xs(hw::DType::kF32, {8}), ys(hw::DType::kF32, {8});
  for (size_t i = 0; i < 8; ++i) {
    xs.as<float>()[i] = static_cast<float>(i);
    ys.as<float>()[i] = 3 * static_cast<float>(i) - 2;
  }
  HW_RETURN_IF_ERROR(program->feed("x", xs));
  HW_RETURN_IF_ERROR(program->feed("y", ys));
  for (int step = 0; step < 2000; ++step) HW_RETURN_IF_ERROR(program->run());
  HW_ASSIGN_OR_RETURN(const hw::Tensor slope, store->get("a"));
  HW_ASSIGN_OR_RETURN(const hw::Tensor offset, store->get("b"));
  std::printf("y = %.3f x + %.3f\n", static_cast<double>(slope.as<float>()[0]),
              static_cast<double>(offset.as<float>()[0]));
  return {};
}

}  // namespace

int main() {
  if (const auto result = run(); !result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    return 1;
  }
  return 0;
}
