// Checkpoints: TrainState, the native format (atomic), safetensors, export to Hugging Face directories, and weights of
// any format behind one interface.
#pragma once

#include "checkpoints/hf_export.h"
#include "checkpoints/native.h"
#include "checkpoints/safetensors.h"
#include "checkpoints/weights_source.h"
#include "state/train_state.h"
