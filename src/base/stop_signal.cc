#include "base/stop_signal.h"

namespace headwater {
namespace {

volatile std::sig_atomic_t g_signal = 0;

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
  g_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;  // a write in progress is finished
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

int StopSignal::number() { return g_signal; }

}  // namespace headwater
