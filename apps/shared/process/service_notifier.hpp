// SPDX-License-Identifier: Apache-2.0
// Reports the state of a service to systemd. Implements the protocol of sd_notify(3), one datagram
// for each message, without a library. `starling serve` uses ServiceNotifier.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace starling::apps {

class ServiceNotifier {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes these variables from the
  /// environment. Without NOTIFY_SOCKET, notify() does nothing.
  ServiceNotifier();
  ~ServiceNotifier();
  ServiceNotifier(const ServiceNotifier&) = delete;
  ServiceNotifier& operator=(const ServiceNotifier&) = delete;

  /// Returns the longest time between two messages WATCHDOG=1, or std::nullopt if systemd wants
  /// none.
  std::optional<std::int64_t> watchdog_us() const { return watchdog_us_; }

  /// Sends for example "READY=1" or "WATCHDOG=1". Never waits. Returns false if NOTIFY_SOCKET was
  /// set but the message could not be sent.
  bool notify(std::string_view state) const;

 private:
  std::string path_;  ///< path of the socket; an abstract one begins with NUL
  int descriptor_ = -1;
  std::optional<std::int64_t> watchdog_us_;
};

}  // namespace starling::apps
