// The command line: finds the verb, parses its flags, runs it, turns errors into one line and an
// exit code.
#pragma once

namespace headwater {

// Exit codes: 0 done, 2 usage, 3 bad input, 4 not found, 5 refused (permission, quota), 75 try
// again, 128+n stopped by signal n after a final checkpoint.
int run(int argc, char** argv);

}  // namespace headwater
