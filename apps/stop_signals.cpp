// Blocks SIGINT and SIGTERM and polls for them with sigtimedwait: see stop_signals.hpp.
#include "apps/stop_signals.hpp"

#include <ctime>

namespace starling::apps {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

bool StopSignals::asked_to_stop() {
  const timespec no_wait{};
  if (!asked_) asked_ = sigtimedwait(&signals_, nullptr, &no_wait) > 0;
  return asked_;
}

}  // namespace starling::apps
