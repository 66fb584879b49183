// File systems: local_files(), and the interface behind it for your own storage. Writes are atomic.
#pragma once

#include "io/file.h"
