// Training: ModelTrainer (a model by its architecture) and Trainer (an ELECTRA pair) make steps on
// batches you give; optimizers and schedules by name; run_pretraining() is `headwater pretrain`.
#pragma once

#include "train/model_trainer.h"
#include "train/optimizer.h"
#include "train/pretrain_options.h"
#include "train/pretrain_run.h"
#include "train/schedule.h"
#include "train/trainer.h"
