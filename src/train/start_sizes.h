// The sizes of a published or own model as options of `headwater pretrain`, for runs that go on
// with it: nobody should have to type what its config.json says.
#pragma once

#include <string>

#include "base/json.h"
#include "io/file.h"
#include "train/pretrain_options.h"

namespace headwater {

// `path`: what --init-checkpoint takes. Options by name: model_size (the nearest, for its recipe),
// model_hparam_overrides and, where the model has a generator, generator_hidden_size and
// generator_layers. kUnimplemented for a GPT-2.
Result<Json> start_sizes(FileSystem& fs, const std::string& path);

}  // namespace headwater
