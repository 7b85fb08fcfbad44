// SPDX-License-Identifier: Apache-2.0
// Sends datagrams to the socket that the environment names: see service_notifier.hpp.
#include "starling/apps/shared/process/service_notifier.hpp"

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace starling::apps {

namespace {

/// Returns the value of an environment variable, and removes the variable. Programs that this
/// program starts then cannot notify systemd.
std::string take_from_environment(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || read != end || number <= 0) return std::nullopt;
  return number;
}

}  // namespace

ServiceNotifier::ServiceNotifier() : path_(take_from_environment("NOTIFY_SOCKET")) {
  const auto watchdog_us = number_in(take_from_environment("WATCHDOG_USEC"));
  const std::string watched = take_from_environment("WATCHDOG_PID");
  const bool is_addressed = path_.starts_with('/') || path_.starts_with('@');
  if (!is_addressed || path_.size() >= sizeof(sockaddr_un::sun_path)) return;
  if (path_.front() == '@') path_.front() = '\0';
  descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (watched.empty() || number_in(watched) == getpid()) watchdog_us_ = watchdog_us;
}

ServiceNotifier::~ServiceNotifier() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool ServiceNotifier::notify(std::string_view state) const {
  if (descriptor_ < 0) return path_.empty();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  return sendto(descriptor_, state.data(), state.size(), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address),
                length) == static_cast<ssize_t>(state.size());
}

}  // namespace starling::apps
