// SIGINT and SIGTERM as a question a loop asks, so that no call is ever interrupted. Used by
// commands that run until they are told to stop.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

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

/// While it lives, one of the signals ends the program at once, with exit status 1: for times in
/// which nobody asks.
class EndAtSignal {
 public:
  /// `clean_up` is called before that, on another thread.
  EndAtSignal(StopSignals& signals, std::function<void()> clean_up);

 private:
  std::jthread thread_;
};

}  // namespace starling::apps
