#include "train/task_trainer.h"

namespace headwater {

Tensor key_tensor(Key key) {
  Tensor tensor(DType::kU32, {2});
  tensor.as<uint32_t>()[0] = key.k0;
  tensor.as<uint32_t>()[1] = key.k1;
  return tensor;
}

Result<> feed_scalars(Program& program, const Scalars& scalars) {
  for (const auto& [name, value] : scalars) {
    HW_RETURN_IF_ERROR(program.feed(name, Tensor::scalar(static_cast<float>(value))));
  }
  return {};
}

Result<double> fetch_scalar(const Program& program, std::string_view name) {
  HW_ASSIGN_OR_RETURN(const Tensor tensor, program.fetch(name));
  return static_cast<double>(tensor.as<float>()[0]);
}

}  // namespace headwater
