// SPDX-License-Identifier: Apache-2.0
// The interface through which Ticker sends the messages of ticks. The program uses ResultsSocket. A
// simulation passes the messages to its own subscribers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "starling/protocol/wire/tick_message.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class Results {
 public:
  virtual ~Results() = default;
  /// Sends some messages of a tick. `of_tick` is the number of all messages of the tick. Each is a
  /// multipart message of topic, header and chunks.
  virtual void send(std::span<protocol::TickMessage> messages, std::size_t of_tick) = 0;
  /// Returns the number of current subscriptions to `topic`.
  virtual std::uint64_t subscriber_count(std::string_view topic) const = 0;
};

}  // namespace starling::stream
