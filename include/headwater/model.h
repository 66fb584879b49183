// Models: BERT, GPT-2 and ELECTRA by their architecture's name, the ELECTRA pair in training, their
// configurations (Hugging Face's config.json), and the scope that names parameters.
#pragma once

#include "models/electra.h"
#include "models/electra_config.h"
#include "models/model.h"
#include "models/scope.h"
