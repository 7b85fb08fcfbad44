// SPDX-License-Identifier: Apache-2.0
// Answers and refuses requests: counts and records the replies, adds the limits that were reached,
// and writes refusals for missing rights to the audit log. The families of requests use it.
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

/// Returns the refusal of a request that names a stream that does not exist.
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
        log_lines_(options.log_lines),
        all_log_lines_(options.all_log_lines) {}

  /// Answers a sequenced request: records it with the change that RequestLog::note_change() keeps,
  /// sends the reply when the record is on the disk, and keeps the reply for resends.
  void answer(const Caller& caller, SequencedReply reply);
  /// Sends the kept reply of a request that the client has sent again.
  void answer_again(const Caller& caller, const SequencedReply& reply);
  /// Returns the frame of a reply, with the place after the last record of the log.
  protocol::Frame encode(const Caller& caller, const SequencedReply& reply) const;
  /// Sends a reply at once, even if the log is not on the disk yet.
  void send(const Caller& caller, const protocol::Frame& frame) {
    sender_.send(caller.peer, frame);
  }
  /// Sends an answer from a finished tick when the log is on the disk up to `place_of(tick)`. If
  /// the disk is full, refuses instead.
  void send_after(const Caller& caller, const protocol::Frame& frame,
                  std::uint64_t (AnswerPlaces::*place_of)(Tick) const, Tick tick);
  ReplySender& sender() { return sender_; }

  void refuse(const Caller& caller, protocol::Problem problem);
  void refuse(const Caller& caller, protocol::ErrorCode code, std::string sentence);
  /// Refuses a request for which memory ran out. The client may send it again with the same number.
  /// Throws as RequestLog::check_memory() does if the request is sequenced.
  void refuse_for_memory(const Caller& caller);
  /// Refuses a question that the engine could not answer, with the engine's error.
  void refuse_unanswered(const Caller& caller, const Answers& answers);
  /// Refuses a question because the log's disk is full: the answer would show changes that the log
  /// does not have.
  void refuse_without_room(const Caller& caller);

  /// Returns whether the log may have a further line about the peer: about its principal, or about
  /// its connection if it has no principal. If not, the metrics count the line.
  bool may_log(const Peer& peer);
  /// Forgets peers that have been silent, and logs how many lines were left out. Call it about once
  /// a second.
  void expire(std::int64_t now_us);

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
  PeerBuckets all_log_lines_;               ///< has one bucket, for all peers together
  std::uint64_t log_lines_left_out_ = 0;    ///< lines that no line reports yet
  std::int64_t log_lines_left_out_us_ = 0;  ///< time of the first of them
};

}  // namespace starling::stream
