// Running graphs on a device: Executor::open("cpu"), StateStore, Program; Tensor is the host's side.
#pragma once

#include "base/threads.h"
#include "base/tensor.h"
#include "executors/executor.h"
