// Downstream tasks: run_finetuning(), evaluate_task() and predict_task(), which are `headwater finetune`, `evaluate` and
// `predict`, and the metrics by themselves.
#pragma once

#include "finetune/answers.h"
#include "finetune/apply_run.h"
#include "finetune/entities.h"
#include "finetune/finetune_run.h"
#include "finetune/metrics.h"
#include "finetune/score_metrics.h"
#include "finetune/thresholds.h"
