// SPDX-License-Identifier: Apache-2.0
// Answers and refuses requests: counts and records what is answered, adds the limits that were
// reached, and tells the audit log of refusals for want of rights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/access/audit.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/reply_sender.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/state/peer_buckets.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/tables/growth.hpp"

namespace starling::stream {

/// Returns the problem of a request that names a stream which does not exist.
protocol::Problem unknown_stream(std::string_view stream);

/// Only the loop calls the functions.
class Replies {
 public:
  Replies(const ServerOptions& options, Executor& executor, Metrics& metrics, Audit& audit,
          SessionTable& sessions, const Growth& growth, RequestLog& log, ReplySender& sender)
      : options_(options),
        executor_(executor),
        metrics_(metrics),
        audit_(audit),
        sessions_(sessions),
        growth_(growth),
        log_(log),
        sender_(sender),
        log_lines_(options.log_lines) {}

  /// Answers a sequenced request: records it with what RequestLog::note_change() got, sends the
  /// reply when the record is on the disk, and keeps the reply for resends.
  void answer(const Caller& caller, SequencedReply reply);
  /// Sends a reply that was given before.
  void answer_again(const Caller& caller, const SequencedReply& reply);
  /// Returns the frame of a reply.
  protocol::Frame encode(const Caller& caller, const SequencedReply& reply) const;
  /// Sends a reply at once.
  void send(const Caller& caller, const protocol::Frame& frame) {
    sender_.send(caller.peer, frame);
  }
  /// Sends an answer from a finished tick when the log is on the disk up to a place of that tick.
  /// If the disk is full, refuses instead.
  void send_after(const Caller& caller, const protocol::Frame& frame,
                  std::uint64_t (AnswerPlaces::*place_of)(Tick) const, Tick tick);
  ReplySender& sender() { return sender_; }

  void refuse(const Caller& caller, protocol::Problem problem);
  void refuse(const Caller& caller, protocol::ErrorCode code, std::string sentence);
  /// Refuses a request for which memory ran out. The client may send it again with its number.
  void refuse_for_memory(const Caller& caller);
  /// Refuses a request that the engine could not answer.
  void refuse_unanswered(const Caller& caller, const Answers& answers);
  /// Refuses an answer that the log has no room for.
  void refuse_without_room(const Caller& caller);

  /// Returns whether the log may have a further line about the peer. If not, counts the line.
  bool may_log(const Peer& peer);
  /// Forgets peers that have been silent. Call it about once a second.
  void expire(std::int64_t now_us) { log_lines_.expire(now_us); }

 private:
  void count(const Caller& caller, SequencedReply& reply);
  void count(const Caller& caller, protocol::BatchReply& reply);
  void log_refusal(const Caller& caller, const protocol::Problem& problem);
  protocol::ReachedLimit limit_of(protocol::RowReason reason, const Caller& caller) const;
  void audit_refusal(const Caller& caller, std::string_view what);

  const ServerOptions& options_;
  Executor& executor_;
  Metrics& metrics_;
  Audit& audit_;
  SessionTable& sessions_;
  const Growth& growth_;
  RequestLog& log_;
  ReplySender& sender_;
  PeerBuckets log_lines_;
};

}  // namespace starling::stream
