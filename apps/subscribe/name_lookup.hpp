// Asks a server for names beside a subscription: on a thread, a socket and a session of its own, so
// that a server that is slow or away never keeps ticks from being read.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include <zmq.hpp>

#include "apps/subscribe/name_cache.hpp"

namespace starling::apps {

class NameLookup {
 public:
  /// Names that come within this time are shown the first time their ids are.
  static constexpr std::chrono::milliseconds wait_max{250};

  /// The thread inherits the signal mask. `client` says whom to ask, and how long for one answer.
  explicit NameLookup(protocol::ClientOptions client);
  ~NameLookup();

  /// Calls `use` while the names stand still. Before, waits for the names of `ids`, but not longer
  /// than wait_max, and not at all while an earlier wait was in vain.
  void with_names(std::span<const std::uint64_t> ids, const std::function<void()>& use);

  /// To be read inside with_names.
  const sim::NameTable& names() const { return cache_.names(); }

 private:
  void run(const std::stop_token& stop);
  void ask_on(const std::stop_token& stop, protocol::Client& client);

  zmq::context_t zmq_;
  protocol::ClientOptions options_;
  std::mutex mutex_;  ///< of all that follows
  std::condition_variable_any changed_;
  NameCache cache_;
  bool is_late_ = false;  ///< somebody waited in vain, and not all is answered yet
  std::jthread thread_;
};

}  // namespace starling::apps
