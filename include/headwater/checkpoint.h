// Checkpoints: TrainState, the native format (atomic), safetensors, export to Hugging Face directories, weights of any
// format behind one interface, as models see them, and their conversion.
#pragma once

#include "checkpoints/convert.h"
#include "checkpoints/hf_directory.h"
#include "checkpoints/hf_export.h"
#include "checkpoints/model_weights.h"
#include "checkpoints/native.h"
#include "checkpoints/safetensors.h"
#include "checkpoints/weights_source.h"
#include "state/train_state.h"
