#include "base/stop_signal.h"

#include <atomic>

namespace headwater {
namespace {

// The handler runs on any thread: an atomic that needs no lock.
std::atomic<int> g_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);
int g_living = 0;

void note_signal(int number) {
  if (g_signal != 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  g_signal = number;
}

}  // namespace

StopSignal::StopSignal() {
  if (g_living++ == 0) g_signal = 0;  // one within another keeps what came
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // a write in progress is finished
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

StopSignal::~StopSignal() {
  --g_living;
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

int StopSignal::number() { return g_signal; }

}  // namespace headwater
