// Computations as data: Graph, Value, the operators (free functions on values, shapes checked when
// called), and gradients. For those who write models.
#pragma once

#include "graph/graph.h"
#include "graph/op.h"
#include "ops/gradient.h"
#include "ops/ops.h"
