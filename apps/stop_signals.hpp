// SIGINT and SIGTERM as a question a loop asks, so that no call is ever interrupted. Used by
// commands that run until they are told to stop.
#pragma once

#include <csignal>

namespace starling::apps {

class StopSignals {
 public:
  /// Create before any thread: threads inherit that the signals wait to be asked for.
  StopSignals();

  /// True from the first time one of the signals has come.
  bool asked_to_stop();

 private:
  sigset_t signals_;
  bool asked_ = false;
};

}  // namespace starling::apps
