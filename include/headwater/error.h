// Errors as values: Result<T>, Error (code, message, hint), HW_ASSIGN_OR_RETURN, HW_RETURN_IF_ERROR.
// Nothing in this library throws for bad data.
#pragma once

#include "base/error.h"
