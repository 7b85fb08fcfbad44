// SPDX-License-Identifier: Apache-2.0
// Sends replies: at once, or when the log's records of what they say are on the disk. Without a
// log, sends all replies at once. Replies uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "starling/protocol/wire/frame.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/state/peer.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class ReplySender {
 public:
  using Send = std::function<void(const Peer&, const protocol::Frame&)>;

  /// `journal` is null if the server has no log. At most `waiting_bytes_max` bytes of replies wait
  /// for the log.
  ReplySender(Send send, Journal* journal, Metrics& metrics, std::size_t waiting_bytes_max)
      : send_(std::move(send)),
        journal_(journal),
        metrics_(metrics),
        waiting_bytes_max_(waiting_bytes_max) {}

  void send(const Peer& peer, const protocol::Frame& frame) { send_(peer, frame); }
  /// Sends a reply when all that was appended so far is on the disk.
  void send_when_logged(const Peer& peer, const protocol::Frame& frame);
  /// Sends the reply to a change in the same way, with the log's place after the change.
  void send_with_place(const Peer& peer, protocol::Frame frame);
  /// Sends a reply at once although the log has no record of what it says. Sends nothing if the log
  /// has failed: the server ends then. Call it only if there is a log.
  void send_without_record(const Peer& peer, const protocol::Frame& frame);
  /// Sends a reply when the log is on the disk up to `place`. If too many bytes wait for a slow
  /// disk, drops the reply; the client sends its request again. Replies to the server's own HTTP
  /// endpoint are not dropped: it does not send again, and has its own limits. Call it only if
  /// there is a log.
  void send_when_durable(const Peer& peer, const protocol::Frame& frame, std::uint64_t place);

 private:
  Send send_;
  Journal* journal_;
  Metrics& metrics_;
  std::size_t waiting_bytes_max_;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace starling::stream
