// A client's side of a session: numbers its requests, keeps what is unanswered for a resend, and
// counts credit. Sans-IO; Client moves its frames.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::protocol {

/// An encoded request on its way, until its reply comes.
struct Outgoing {
  std::uint64_t request_id = 0;
  std::uint64_t sequence = 0;     ///< 0: not a sequenced request
  std::uint64_t credit_rows = 0;  ///< held while unanswered, as the bytes
  std::uint64_t credit_bytes = 0;
  Frame frame{};
};

class ClientSession {
 public:
  ClientSession(std::string client, std::string key)
      : client_(std::move(client)), key_(std::move(key)) {}

  /// What a new connection sends first. Its request id is 0, which no other request has.
  Frame hello() const;
  /// The answer to it. From now on unanswered() is addressed to this session and is to be sent
  /// again.
  void on_hello(const HelloReply& reply);

  /// The server's terms; only after the first on_hello.
  const HelloReply& server() const { return *server_; }

  /// The numbered request; or why no server with these terms would take it.
  std::variant<Outgoing, Problem> prepare(const RequestBody& body);
  /// Whether the server takes it now, on top of what is unanswered.
  bool has_credit_for(const Outgoing& outgoing) const;
  /// It is about to be sent. The frame stays until its reply comes.
  const Outgoing& admit(Outgoing outgoing);

  enum class Verdict : std::uint8_t {
    answered,     ///< the request is done with, whatever the reply says
    unexpected,   ///< no unanswered request has this id: an answer to a resend came twice
    try_again,    ///< send this one request again, later
    start_again,  ///< connect anew, say hello, send all unanswered again
  };
  /// `refusal` is the reply's error code, or none.
  Verdict on_reply(const ReplyHead& head, ErrorCode refusal);

  /// Nobody waits for this request any more. A sequenced one stays: its number must be used.
  void abandon(std::uint64_t request_id);

  const std::deque<Outgoing>& unanswered() const { return unanswered_; }
  const Outgoing* find(std::uint64_t request_id) const;

 private:
  /// Of what is unanswered; if nothing is, the next number.
  std::uint64_t oldest_sequence() const;

  std::string client_;
  std::string key_;
  std::string server_name_;
  std::optional<HelloReply> server_;
  std::uint64_t next_request_id_ = 1;
  std::uint64_t next_sequence_ = 1;
  std::deque<Outgoing> unanswered_;  ///< in the order of their numbers
  std::uint64_t credit_rows_held_ = 0;
  std::uint64_t credit_bytes_held_ = 0;
};

}  // namespace starling::protocol
