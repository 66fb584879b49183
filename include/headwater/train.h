// Training: Trainer (steps on batches you give), and run_pretraining(), which is `headwater pretrain`.
#pragma once

#include "train/pretrain_options.h"
#include "train/pretrain_run.h"
#include "train/schedule.h"
#include "train/trainer.h"
