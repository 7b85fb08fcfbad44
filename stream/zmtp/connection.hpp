// SPDX-License-Identifier: Apache-2.0
// One connection of a Listener: reads the socket into a Session, and writes a WriteQueue to it. All
// functions run on the connection's I/O thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>

#include "starling/stream/turns/read_turns.hpp"
#include "starling/stream/turns/request_owner.hpp"
#include "starling/stream/zmtp/link.hpp"
#include "starling/stream/zmtp/session.hpp"
#include "starling/stream/zmtp/write_queue.hpp"

namespace starling::stream::zmtp {

class Connection;

/// The functions of an endpoint that its connections call. I/O threads call them, each for its own
/// connections.
class Traffic {
 public:
  virtual ~Traffic() = default;
  /// See SessionSink. If it returns false, Connection::go_on() must be called later.
  virtual bool take_room(Connection& from, std::size_t bytes) = 0;
  virtual void return_room(Connection& from, std::size_t bytes) = 0;
  /// `room` is the room that the message has got from take_room(): the bytes of its parts, and the
  /// bytes that the server needs besides for each part.
  virtual void take_message(Connection& from, Message message, std::size_t room) = 0;
  /// Calls Connection::cut() if the connection may not subscribe.
  virtual void take_subscription(Connection& from, bool joins, std::string_view topic) = 0;
  virtual void established(Connection& connection) = 0;
  /// Called when messages of send() are wholly written.
  virtual void written(Connection& connection, const WriteQueue::Written& written) = 0;
  /// Called once, when the connection is closed, also if it was never established. `room` is the
  /// room of the unfinished message, and `charge` the charge of all messages that were not written.
  virtual void closed(Connection& connection, std::size_t room, std::size_t charge) = 0;
  /// Returns whether connections wait for room.
  virtual bool lacks_room() const = 0;
  /// Returns whether too many bytes wait to be written. Peers that read nothing are then cut.
  virtual bool holds_too_much() const = 0;
};

class Connection final : public SessionSink,
                         public Reader,
                         public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// The functions of a Listener that its connections call.
  struct Owner {
    virtual ~Owner() = default;
    virtual const SessionOptions& session_options() const = 0;
    virtual Traffic& traffic() = 0;
    /// Called when the first bytes of the handshake have come.
    virtual void heard(Connection& connection) = 0;
    /// Returns false if the connection gets no place.
    virtual bool may_establish(Connection& connection) = 0;
    virtual void ended(Connection& connection, std::optional<Fault> fault) = 0;
  };

  Connection(Owner& owner, Socket socket, std::shared_ptr<Link> link);
  ~Connection() override;

  void start();
  /// Closes the connection. Does nothing if it is closed.
  void cut(Fault fault);
  void close();
  bool is_closed() const { return !socket_.is_open(); }

  const std::shared_ptr<Link>& link() const { return link_; }
  bool is_established() const { return is_counted_; }

  /// Puts a message into the queue. Call flush() soon. Returns false, and does nothing,
  /// if there is no memory.
  [[nodiscard]] bool send(std::shared_ptr<const WireMessage> message, std::size_t charge);
  void flush();
  /// Returns whether all messages are written, and the peer's kernel has acknowledged them.
  bool is_drained() const;

  /// Takes bytes again after Traffic::take_room() has returned false.
  void go_on();
  /// Cuts the connection if its handshake is late, if its peer is silent for too long, or if it
  /// keeps memory that others wait for. Sends a PING to a silent peer. Call it several times a
  /// second.
  void check(std::int64_t now_us);

 private:
  // SessionSink
  void answer(std::shared_ptr<const WireMessage> message) override;
  bool take_room(std::size_t bytes) override;
  void return_room(std::size_t bytes) override;
  void established() override;
  void take_message(Message message) override;
  void take_subscription(bool joins, std::string_view topic) override;

  /// Calls the function. If it throws, cuts this connection, so that other connections go on.
  template <class Function>
  void guard(const Function& function);
  void go_on(bool hears);
  void check_established(std::int64_t now_us);
  void wait_to_read();
  bool must_rest();
  void read_by_turns();
  // Reader
  Payer reads_for() const override { return {owner_of(*link_), link_->number}; }
  bool take_read_turn() override;
  /// Returns whether there may be more to read now.
  bool read();
  bool wait_for_more();
  /// Returns false if the session takes no more bytes now.
  bool feed(std::span<const std::byte> bytes);
  void write();
  void wait_to_write();
  void end(std::optional<Fault> fault);
  bool is_vanished(std::int64_t now_us) const;

  Owner& owner_;
  mutable Socket socket_;
  std::shared_ptr<Link> link_;
  WriteQueue queue_;
  std::size_t answers_ = 0;  ///< number of the session's answers since the queue was empty
  Session session_;
  std::vector<std::byte> untaken_;  ///< bytes received while the session took none
  bool is_paused_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_heard_ = false;
  bool is_resting_ = false;             ///< too much has come lately, and more is read later
  std::int64_t allowance_full_us_ = 0;  ///< time when the subscriber has its whole allowance again
  bool is_counted_ = false;
  std::size_t room_ = 0;  ///< room of the unfinished message
  std::int64_t begun_us_;
  std::int64_t heard_us_;
  std::int64_t pinged_us_ = 0;
  std::int64_t room_since_us_ = 0;
  std::int64_t wrote_us_ = 0;  ///< time when bytes were written last, or the queue began to fill
};

}  // namespace starling::stream::zmtp
