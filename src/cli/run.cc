#include "cli/run.h"

namespace headwater {
int run(int, char**) { return 2; }
}  // namespace headwater
