// The command line: finds the verb, parses its arguments, runs it, turns errors into one line and
// an exit code.
//
// Exit codes: 0 done, 2 wrong usage, 3 bad input, 4 not found, 5 refused (permission, quota, no
// space or memory), 75 try again later, 128+n stopped by signal n (after a final checkpoint where
// there is one), 1 anything else. A closed standard output (| head) ends the program quietly by
// SIGPIPE, as 128+13.
#pragma once

#include <span>
#include <string>

#include "base/error.h"

namespace headwater {

int run(int argc, char** argv);

// The exit code of an error that a verb returned.
int exit_code(Code code);

}  // namespace headwater
