// Models: the ELECTRA pair, its configuration (Hugging Face's config.json), and the scope that names
// parameters.
#pragma once

#include "models/electra.h"
#include "models/electra_config.h"
#include "models/scope.h"
