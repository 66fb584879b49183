// Checkpoints: TrainState, the native format (atomic), safetensors, export to Hugging Face directories.
#pragma once

#include "checkpoints/hf_export.h"
#include "checkpoints/native.h"
#include "checkpoints/safetensors.h"
#include "state/train_state.h"
