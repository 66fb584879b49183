// Training: ModelTrainer (a model by its architecture) and Trainer (the ELECTRA pair) on batches you give, the step as a
// graph for a loop of your own, optimizers and schedules, and whole runs: run_training() and run_pretraining(), which are
// `headwater train` and `headwater pretrain`.
#pragma once

#include "train/model_batches.h"
#include "train/model_trainer.h"
#include "train/optimizer.h"
#include "train/pretrain_options.h"
#include "train/pretrain_run.h"
#include "train/schedule.h"
#include "train/step_graph.h"
#include "train/train_options.h"
#include "train/train_run.h"
#include "train/trainer.h"
