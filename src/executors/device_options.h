// --device, --num-replicas and --precision of every verb that runs a model.
#pragma once

#include <memory>
#include <string>

#include "base/described.h"
#include "executors/executor.h"

namespace headwater {

struct DeviceOptions {
  std::string device = "cpu";
  std::string precision = "float32";
  int64_t num_replicas = 0;

  void describe(Fields& f) {
    f("device", device,
      "where to run: cpu (the native executor), tpu, cuda, pjrt:cpu (XLA), or pjrt:PATH, a "
      "plugin's "
      "file; `headwater devices` lists what there is");
    f("num_replicas", num_replicas,
      "devices that share each batch, each with its rows; 0: all that --device has, of the CPU one")
        .range(0, 1 << 16)
        .alias("num_devices");
    f("precision", precision,
      "mixed_bf16: products of bfloat16 numbers, summed in float32, on XLA devices; weights, norms "
      "and losses stay float32")
        .one_of({"float32", "mixed_bf16"});
  }
  Result<std::unique_ptr<Executor>> open() const {
    return Executor::open(device,
                          {.num_replicas = num_replicas, .mixed_bf16 = precision == "mixed_bf16"});
  }
};

}  // namespace headwater
