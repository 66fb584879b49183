// TFRecord files and tf.Example: reading, writing, checking, and building examples from text: ELECTRA, GPT,
// BERT, or one per line.
#pragma once

#include "records/records_build.h"
#include "records/example.h"
#include "records/record_file.h"
#include "records/record_verify.h"
