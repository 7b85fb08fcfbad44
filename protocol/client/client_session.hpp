// SPDX-License-Identifier: Apache-2.0
// ClientSession is the client's side of a session. It numbers the requests, keeps unanswered
// requests for a resend, and counts the credit that they use. It is sans-IO: Client sends and
// receives the frames.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

/// An encoded request whose reply has not come yet.
struct Outgoing {
  std::uint64_t request_id = 0;
  std::uint64_t sequence = 0;  ///< 0: not a sequenced request
  /// The rows and bytes of credit that the request uses until its reply comes.
  std::uint64_t credit_rows = 0;
  std::uint64_t credit_bytes = 0;
  bool is_batch = false;
  Frame frame{};
};

class ClientSession {
 public:
  explicit ClientSession(std::string client) : client_(std::move(client)) {}

  /// Returns the first frame to send on a new connection. Its request id is 0; every other request
  /// has a greater id.
  Frame hello() const;
  /// Takes in the reply to hello() and addresses all unanswered() requests to the reply's session.
  /// The caller must then send these requests again.
  ///
  /// If the server's log lacks requests that were acknowledged, the session forgets the unanswered
  /// requests that the log lacks too, and goes on with the server's next number. on_hello then
  /// returns a PutBack: its `problem` is the caller's answer to each of these requests.
  struct PutBack {
    Problem problem{};
    std::vector<std::uint64_t> request_ids{};  ///< ids of the forgotten requests
  };
  std::optional<PutBack> on_hello(const HelloReply& reply);

  /// The server's terms; call only after the first on_hello. Limits above the client's own ceilings
  /// are lowered to them, so that no server makes the client keep more than 1 GiB for a resend.
  const HelloReply& server() const { return *server_; }

  /// Numbers and encodes a request. Returns a Problem if the request has more rows or bytes than
  /// the server ever accepts.
  std::variant<Outgoing, Problem> prepare(const RequestBody& body);
  /// Returns true if the server would accept the request now, in addition to all unanswered
  /// requests.
  bool has_credit_for(const Outgoing& outgoing) const;
  /// Takes over a prepared request that is about to be sent. Keeps the request's frame until the
  /// reply comes.
  const Outgoing& admit(Outgoing outgoing);

  enum class Verdict : std::uint8_t {
    answered,     ///< the request is finished: done, or refused for good
    unexpected,   ///< no unanswered request has this id; an earlier reply may have answered it
    try_again,    ///< send this request again, later
    start_again,  ///< reconnect, say hello, send all unanswered requests again
  };
  /// Returns what is wrong with a reply to `asked`, as the end of a sentence about the server.
  /// Returns std::nullopt if the reply fits, or if its type alone could be wrong and the request is
  /// not a batch: the caller of the request checks that type.
  static std::optional<std::string> misfit(const Outgoing& asked, const ReplyBody& body);

  /// `refusal` is the reply's error code, or ErrorCode::none.
  Verdict on_reply(const ReplyHead& head, ErrorCode refusal);

  /// Forgets a request for which the caller no longer waits. A sequenced request is not forgotten,
  /// because the server allows no gap in the sequence numbers.
  void abandon(std::uint64_t request_id);

  /// Returns true if a request has had this id. A reply to it may come late, or twice.
  bool has_asked(std::uint64_t request_id) const {
    return request_id != 0 && request_id < next_request_id_;
  }

  const std::deque<Outgoing>& unanswered() const { return unanswered_; }
  const Outgoing* find(std::uint64_t request_id) const;

 private:
  /// Returns the sequence number of the oldest unanswered sequenced request. If there is none,
  /// returns the next sequence number.
  std::uint64_t oldest_sequence() const;
  bool lacks_acknowledged(const HelloReply& reply) const;
  PutBack begin_again(const HelloReply& reply);

  std::string client_;
  std::string server_name_;
  std::optional<HelloReply> server_;
  std::uint64_t next_request_id_ = 1;
  std::uint64_t next_sequence_ = 1;
  std::deque<Outgoing> unanswered_;  ///< sorted by request_id
  // The next three count only replies with a place of the server's log. 0: no reply had a place.
  std::uint64_t acknowledged_run_ = 0;       ///< the run of the last of these replies
  std::uint64_t acknowledged_place_ = 0;     ///< the greatest place in that run
  std::uint64_t acknowledged_sequence_ = 0;  ///< the greatest sequence number
  std::uint64_t credit_rows_held_ = 0;
  std::uint64_t credit_bytes_held_ = 0;
};

}  // namespace starling::protocol
