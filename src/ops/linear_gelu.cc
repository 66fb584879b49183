// GELU(x weight^T + bias) in one pass over memory. Outputs: y, and GELU' of the value before it,
// for the gradient.
#include "ops/elementwise.h"
#include "ops/gelu.h"
#include "ops/linear.h"

namespace headwater {
namespace {

std::vector<Type> infer(const InferContext& c) {
  (void)gelu_form(c.attrs);
  const Type y = infer_linear(c);
  return {y, y};
}

std::vector<Value> vjp(const VjpContext& c) {
  if (c.output_grads[1].valid())
    throw GraphError("linear_gelu: only its first output has a gradient");
  return linear_gradients(c, mul(c.output_grads[0], c.outputs[1]));
}

std::vector<Value> decompose(Graph& graph, const std::vector<Value>& inputs, const Attrs& attrs) {
  const Value x =
      graph.call1(op::linear, inputs, {{"weight_in_out", attrs.get_bool("weight_in_out")}});
  const Attrs form{{"form", attrs.get_text("form")}};
  return {graph.call1(op::gelu, {x}, form),
          keep(graph.call1(op::gelu_grad, {x, constant_like(x, 1)}, form))};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const char* form : {"erf", "tanh"}) {
    for (Sample& sample : linear_samples()) {
      sample.attrs.set("form", std::string(form));
      all.push_back(std::move(sample));
    }
  }
  return all;
}

void cpu(const KernelContext& c) {
  kernels::linear_forward(linear_shape(c.in_type(0), c.out_type(0), c.attrs()), c.in<float>(0),
                          c.in<float>(1), c.out<float>(0), c.workspace().data(),
                          {.bias = c.in<float>(2),
                           .gelu = true,
                           .gelu_derivative = c.out<float>(1),
                           .gelu_form = gelu_form(c.attrs())});
}

}  // namespace

const Op op::linear_gelu = {.name = "linear_gelu",
                            .infer = infer,
                            .vjp = vjp,
                            .decompose = decompose,
                            .cpu = cpu,
                            .workspace = linear_workspace,
                            .cost = linear_cost,
                            .samples = samples};

Value linear_gelu(Value x, Value weight, Value bias, GeluForm form, WeightLayout layout) {
  return x.graph().call(op::linear_gelu, {x, weight, bias},
                        {{"form", gelu_form_attr(form)}, {"weight_in_out", is_in_out(layout)}})[0];
}

}  // namespace headwater
