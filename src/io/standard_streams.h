// Standard input and output as a ByteSource and a ByteSink, for verbs that work in a pipe.
#pragma once

#include <memory>

#include "io/file.h"

namespace headwater {

std::unique_ptr<ByteSource> standard_input();
std::unique_ptr<ByteSink> standard_output();  // unbuffered; close() does not close the descriptor

}  // namespace headwater
