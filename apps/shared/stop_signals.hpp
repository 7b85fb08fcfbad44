// SPDX-License-Identifier: Apache-2.0
// Blocks SIGINT and SIGTERM and lets a loop ask for them, so that no system call is interrupted.
// Used by commands that run until a signal stops them.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace starling::apps {

class StopSignals {
 public:
  /// Blocks the signals. Create it before any thread, because threads inherit the signal mask.
  StopSignals();

  /// True once one of the signals has come.
  bool asked_to_stop();

 private:
  sigset_t signals_;
  bool asked_ = false;
};

/// While this object exists, each of the signals ends the program at once, with exit status 1. For
/// phases in which no loop calls asked_to_stop().
class EndAtSignal {
 public:
  /// `clean_up` is called before the program ends, on another thread.
  EndAtSignal(StopSignals& signals, std::function<void()> clean_up);

 private:
  std::jthread thread_;
};

}  // namespace starling::apps
