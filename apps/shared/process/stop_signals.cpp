// SPDX-License-Identifier: Apache-2.0
// Blocks SIGINT and SIGTERM and polls for them with sigtimedwait: see stop_signals.hpp.
#include "starling/apps/shared/process/stop_signals.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <utility>

#include <unistd.h>

namespace starling::apps {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM})
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

bool StopSignals::asked_to_stop() {
  const timespec no_wait{};
  if (signal_ == 0) signal_ = std::max(0, sigtimedwait(&signals_, nullptr, &no_wait));
  return signal_ != 0;
}

bool StopSignals::wait_for(std::chrono::milliseconds longest) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec wait{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(longest - seconds).count()};
  if (signal_ == 0) signal_ = std::max(0, sigtimedwait(&signals_, nullptr, &wait));
  return signal_ != 0;
}

EndAtSignal::EndAtSignal(StopSignals& signals, std::function<void()> clean_up)
    : thread_([&signals, clean_up = std::move(clean_up)](const std::stop_token& stop) {
        constexpr std::chrono::milliseconds look_again{50};
        std::mutex mutex;
        std::condition_variable_any never_notified;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          if (signals.asked_to_stop()) {
            clean_up();
            const StoppedError error(signals);
            const char* const erase_line = isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
            std::fprintf(stderr, "%sstarling: %s\n", erase_line, error.what());
            std::_Exit(error.exit_status);
          }
          never_notified.wait_for(lock, stop, look_again, [] { return false; });
        }
      }) {}

}  // namespace starling::apps
