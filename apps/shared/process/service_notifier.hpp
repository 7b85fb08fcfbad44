// SPDX-License-Identifier: Apache-2.0
// Tells systemd how a service is: the protocol of sd_notify(3), which is one datagram for each
// message. It needs no library. `starling serve` uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace starling::apps {

class ServiceNotifier {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment and removes them from
  /// there. Without NOTIFY_SOCKET, notify() does nothing.
  ServiceNotifier();
  ~ServiceNotifier();
  ServiceNotifier(const ServiceNotifier&) = delete;
  ServiceNotifier& operator=(const ServiceNotifier&) = delete;

  /// Returns how often systemd wants to hear WATCHDOG=1; std::nullopt: it does not.
  std::optional<std::int64_t> watchdog_us() const { return watchdog_us_; }

  /// Sends for example "READY=1" or "WATCHDOG=1". Never waits. Returns false if systemd did not get
  /// the message although it wants it.
  bool notify(std::string_view state) const;

 private:
  std::string path_;  ///< path of the socket; an abstract one begins with NUL
  int descriptor_ = -1;
  std::optional<std::int64_t> watchdog_us_;
};

}  // namespace starling::apps
