// SPDX-License-Identifier: Apache-2.0
// Asks a server for names while a subscription runs. NameLookup has its own thread, socket and
// session, so that a slow or absent server delays a tick by wait_max at most.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include <zmq.hpp>

#include "starling/apps/subscribe/name_cache.hpp"

namespace starling::apps {

class NameLookup {
 public:
  /// with_names() waits this long at most. A name that comes later is shown the next time.
  static constexpr std::chrono::milliseconds wait_max{250};

  /// The thread inherits the signal mask. `client` holds the server's endpoint and the time to wait
  /// for one answer.
  explicit NameLookup(protocol::ClientOptions client);
  ~NameLookup();

  /// Waits for the names of `ids`, then calls `use` while no name can change. Waits at most
  /// wait_max, and not at all if an earlier wait timed out and some answers have still not come.
  void with_names(std::span<const std::uint64_t> ids, const std::function<void()>& use);

  /// Read the table only inside `use` of with_names().
  const sim::NameTable& names() const { return cache_.names(); }

 private:
  void run(const std::stop_token& stop);
  void ask_on(const std::stop_token& stop, protocol::Client& client);

  zmq::context_t zmq_;
  protocol::ClientOptions options_;
  std::mutex mutex_;  ///< guards cache_ and is_late_
  std::condition_variable_any changed_;
  NameCache cache_;
  bool is_late_ = false;  ///< a wait timed out, and not all ids are answered yet
  std::jthread thread_;
};

}  // namespace starling::apps
