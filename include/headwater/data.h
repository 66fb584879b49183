// Batches for training: shards, order, dynamic masks, prefetch. Batch n is a pure function of records,
// options and n.
#pragma once

#include "batches/batch_pipeline.h"
#include "batches/pretrain_pipeline.h"
