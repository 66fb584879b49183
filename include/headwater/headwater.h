// The whole library. What these headers include is public; the rest of src/ may change at any time.
//
// CMake: find_package(headwater) and link headwater::headwater. Programs: examples.
#pragma once

#include "headwater/checkpoint.h"
#include "headwater/data.h"
#include "headwater/error.h"
#include "headwater/executor.h"
#include "headwater/file.h"
#include "headwater/finetune.h"
#include "headwater/generate.h"
#include "headwater/graph.h"
#include "headwater/model.h"
#include "headwater/records.h"
#include "headwater/text.h"
#include "headwater/train.h"
