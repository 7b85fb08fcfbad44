// SPDX-License-Identifier: Apache-2.0
// The socket of a Client: sends requests, receives replies, and reconnects if no reply comes.
// Private to client.cpp and connection.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <zmq.hpp>

#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/client_session.hpp"
#include "starling/protocol/client/handshake_watch.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::protocol {

/// A decoded reply, and the frame into which `decoded` points.
struct ReceivedReply {
  std::unique_ptr<zmq::message_t> message{};
  AlignedBytes frame{};
  DecodedReply decoded{};
  std::string damage{};  ///< what is wrong with a malformed reply; empty: nothing

  /// Returns the refusal in the reply, or what is wrong with a malformed reply; nullptr if there is
  /// neither.
  const Problem* problem() const;
};

class Client::Connection {
 public:
  Connection(zmq::context_t& context, ClientOptions options);
  /// Ends the session if every request that changes something is answered. Waits for the server for
  /// at most 200 ms.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const HelloReply& server() const { return session_.server(); }

  std::optional<Problem> post(const RequestBody& batch);
  BatchTotals flush();
  /// Sends a request. finish() waits for its reply. Call finish() before the next begin().
  std::optional<Problem> begin(const RequestBody& body);
  /// Waits for the reply to the request of begin(). If this throws and the request changes nothing,
  /// the request is given up, and begin() may be called again.
  Result<ReceivedReply> finish();
  /// Returns true if a message waits to be received, or the reply to begin() was already received.
  bool has_arrival() { return begun_reply_ || wait_until_readable(socket_, Clock::now()); }
  /// Sends a request and waits for its reply. Meanwhile, adds the replies to posted batches to
  /// totals_.
  Result<ReceivedReply> call(const RequestBody& body);

  /// Returns a Problem that says what the server did wrong, and what to do. `what` is the end of a
  /// sentence about the server, for example "sent a page twice".
  Problem bad_reply(const std::string& what) const;
  /// Returns the reply's body. Returns a Problem if `reply` is a Problem or if the body does not
  /// have the type Body. The body points into the reply's frame.
  template <class Body>
  Result<Body> body_of(const Result<ReceivedReply>& reply) const {
    if (!reply) return reply.problem();
    if (const auto* body = std::get_if<Body>(&reply->decoded.body)) return *body;
    return bad_reply("answered with a reply of another type than the request asks for");
  }
  /// Returns the page after `page`. Refuses a number that does not rise, because a server could
  /// otherwise send pages without end.
  Result<std::uint64_t> page_after(std::uint64_t page, std::uint64_t next_page) const;

 private:
  using Clock = std::chrono::steady_clock;

  /// A reply is one frame. A part of the next reply may have come, too.
  static constexpr std::uint64_t message_bytes_max = 2 * server_frame_bytes_max;

  void open_socket();
  void say_hello(Clock::time_point deadline);
  void fail_forgotten(ClientSession::PutBack put_back);
  /// Prepares a request, and returns when there is credit for it.
  std::variant<Outgoing, Problem> prepare(const RequestBody& body);
  void start_again(Clock::time_point deadline);
  void end_session();
  void send(const Frame& frame);
  /// Returns std::nullopt if no message comes in time. A message that has come is returned even if
  /// `until` has passed, so a loop that waits for one reply among others must check the deadline.
  std::optional<ReceivedReply> receive(Clock::time_point until);
  /// Returns false if no message comes in time. Throws KeyError, EndpointError or TimeoutError if
  /// the connection has failed for good.
  bool wait_for_message(Clock::time_point until);
  [[noreturn]] void refuse_key(HandshakeWatch::Seen why) const;
  [[noreturn]] void refuse_endless_message();
  /// Throws if the first connection to the server has failed for good.
  void check_first_connection(HandshakeWatch::Seen why);
  void note_stray(const ReceivedReply& reply);
  /// Waits for the next answer to an unanswered request; reconnects and resends where needed.
  ReceivedReply next_answer();
  /// Keeps the reply to the request that begin() sent, and counts the reply to a batch.
  void take(ReceivedReply reply);
  void count(const ReceivedReply& reply);
  bool awaits_begun() const { return begun_ && !begun_reply_; }
  ReceivedReply answer_or_abandon(std::uint64_t request_id);
  void back_off(Clock::time_point deadline);
  void check_deadline(Clock::time_point deadline) const;  ///< throws TimeoutError or KeyError
  Clock::time_point deadline() const { return Clock::now() + std::chrono::milliseconds(wait_ms()); }
  std::int64_t wait_ms() const {
    return is_connected_ ? options_.timeout_ms
                         : std::min(options_.timeout_ms, options_.connect_timeout_ms);
  }
  std::chrono::milliseconds patience() const {
    return std::chrono::milliseconds(options_.reconnect_after_ms);
  }

  zmq::context_t& context_;
  ClientOptions options_;
  ClientSession session_;
  bool is_connected_ = false;  ///< the server has answered a hello
  zmq::socket_t socket_;
  /// Reports failed handshakes until a hello is answered, and messages that never end.
  HandshakeWatch watch_{message_bytes_max};
  int cut_count_ = 0;  ///< connections that ended during a handshake since the last HelloReply
  std::optional<Clock::time_point> unreachable_since_{};
  bool is_refused_ = false;  ///< libzmq has given up: only a new socket connects again
  BatchTotals totals_;
  std::optional<std::uint64_t> begun_;  ///< the id of the request that begin() sent
  std::optional<ReceivedReply> begun_reply_;
  std::deque<ReceivedReply> failed_;  ///< replies to requests that the session has forgotten
  Problem put_back_{};                ///< the refusal that fail_forgotten() got last
  std::uint64_t put_backs_ = 0;
  bool must_tell_put_back_ = false;  ///< the next request that changes something must be refused
  std::int64_t back_off_ms_ = 0;
  std::string last_obstacle_;      ///< the last refusal, for the text of a TimeoutError
  std::uint64_t stray_count_ = 0;  ///< replies that answered no request since the last one that did
  std::string last_stray_;         ///< what was wrong with the last of them, if it was malformed
};

}  // namespace starling::protocol
