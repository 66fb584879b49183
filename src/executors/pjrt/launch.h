// Which of several processes this one is, as the launcher says it in the environment: our own
// variables, GKE's and Cloud TPU's, Slurm's, Open MPI's, MPICH's and torchrun's, in this order.
//
// Only variables are read here; nothing is connected.
#pragma once

#include <cstdint>
#include <string>

#include "executors/pjrt/plugin_search.h"

namespace headwater::pjrt {

struct Launch {
  int64_t process = 0, processes = 1;
  std::string coordinator;  // host, or host:port, of process 0; empty: the launcher names none
  std::string launcher;     // who says so: "slurm", ...; empty: nobody, there is one process

  friend bool operator==(const Launch&, const Launch&) = default;
};

// One process where no launcher is found. kInvalidArgument when one says something that cannot be:
// the variable and its value are named.
Result<Launch> find_launch(const Environment& environment);

}  // namespace headwater::pjrt
