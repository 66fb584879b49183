// TFRecord files and tf.Example: reading, writing, checking, and building ELECTRA's examples from text.
#pragma once

#include "records/electra_build.h"
#include "records/example.h"
#include "records/record_file.h"
#include "records/record_verify.h"
