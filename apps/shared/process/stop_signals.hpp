// SPDX-License-Identifier: Apache-2.0
// Blocks SIGINT and SIGTERM, so that they interrupt no system call, and lets a loop poll for them.
// Used by commands that run until a signal stops them.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <thread>

namespace starling::apps {

class StopSignals {
 public:
  /// Blocks the signals, but not those that the program's parent has set to be ignored, as a shell
  /// does with SIGINT for a command in the background. Create this object before any thread,
  /// because threads inherit the signal mask.
  StopSignals();

  /// Returns true once one of the signals has come.
  bool asked_to_stop();
  /// Waits until one of the signals has come, but at most for `longest`. Returns asked_to_stop().
  bool wait_for(std::chrono::milliseconds longest);
  /// Returns the exit status for a program that a signal has stopped: 130 after SIGINT, 143 after
  /// SIGTERM.
  int exit_status() const { return 128 + signal_; }

 private:
  sigset_t signals_;
  int signal_ = 0;  ///< the signal that has come; 0: none
};

/// Thrown by a loop that a signal ends before anything is written. main returns `exit_status`.
struct StoppedError : std::runtime_error {
  explicit StoppedError(const StopSignals& signals)
      : std::runtime_error("stopped before the end; nothing was written"),
        exit_status(signals.exit_status()) {}
  int exit_status;
};

/// While this object exists, SIGINT and SIGTERM end the program within 50 ms, with exit_status() of
/// the signals. Use this class while no loop calls asked_to_stop().
class EndAtSignal {
 public:
  /// If a signal comes, the thread of this object calls `clean_up` and then ends the program.
  EndAtSignal(StopSignals& signals, std::function<void()> clean_up);

 private:
  std::jthread thread_;
};

}  // namespace starling::apps
