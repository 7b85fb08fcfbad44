// SPDX-License-Identifier: Apache-2.0
// Holds replies back until the log is on the disk: see reply_sender.hpp.
#include "starling/stream/callers/reply_sender.hpp"

#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {
namespace {

/// About how many bytes a waiting reply takes beside its frame.
constexpr std::uint64_t held_bytes_per_reply = 256;

}  // namespace

void ReplySender::send_when_logged(const Peer& peer, const protocol::Frame& frame) {
  if (journal_ == nullptr) return send(peer, frame);
  send_when_durable(peer, frame, journal_->end());
}

void ReplySender::send_with_place(const Peer& peer, protocol::Frame frame) {
  if (journal_ != nullptr) protocol::set_place(frame, journal_->end());
  send_when_logged(peer, frame);
}

void ReplySender::send_without_record(const Peer& peer, const protocol::Frame& frame) {
  if (!journal_->commits().has_failed()) send(peer, frame);
}

void ReplySender::send_when_durable(const Peer& peer, const protocol::Frame& frame,
                                    std::uint64_t place) {
  if (journal_->commits().is_durable(place)) return send(peer, frame);
  const std::uint64_t bytes = frame.size() + held_bytes_per_reply;
  if (!peer.in_process && waiting_bytes_ + bytes > waiting_bytes_max_)
    return metrics_.reply_dropped();
  waiting_bytes_ += bytes;
  journal_->commits().when_durable(place, [this, peer, frame, bytes] {
    waiting_bytes_ -= bytes;
    send(peer, frame);
  });
}

}  // namespace starling::stream
