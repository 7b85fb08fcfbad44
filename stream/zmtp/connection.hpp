// SPDX-License-Identifier: Apache-2.0
// One connection of a Listener: reads the socket into a Session, and writes a WriteQueue to it. All
// functions run on the connection's I/O thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>

#include "starling/stream/zmtp/link.hpp"
#include "starling/stream/zmtp/session.hpp"
#include "starling/stream/zmtp/write_queue.hpp"

namespace starling::stream::zmtp {

class Connection;

/// What the endpoint does with its connections. I/O threads call the functions, each for its own
/// connections.
class Traffic {
 public:
  virtual ~Traffic() = default;
  /// See SessionSink. If it returns false, Connection::go_on() must be called later.
  virtual bool take_room(Connection& from, std::size_t bytes) = 0;
  virtual void return_room(Connection& from, std::size_t bytes) = 0;
  /// `room` is what take_room() was asked for the parts of the message together: their bytes and
  /// the bytes that the server needs besides for each.
  virtual void take_message(Connection& from, Message message, std::size_t room) = 0;
  /// Cuts the connection with Connection::cut() if it may not subscribe.
  virtual void take_subscription(Connection& from, bool joins, std::string_view topic) = 0;
  virtual void established(Connection& connection) = 0;
  /// Messages of send() are wholly written.
  virtual void written(Connection& connection, const WriteQueue::Written& written) = 0;
  /// The connection is closed. Called once, also if it was never established. `room` is what the
  /// unfinished message holds, and `charge` that of the messages that were not written.
  virtual void closed(Connection& connection, std::size_t room, std::size_t charge) = 0;
  /// Returns whether connections wait for room.
  virtual bool lacks_room() const = 0;
  /// Returns whether so much waits to be written that peers who read nothing must go.
  virtual bool holds_too_much() const = 0;
};

class Connection final : public SessionSink, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// What a Listener tells its connections, and hears of them.
  struct Owner {
    virtual ~Owner() = default;
    virtual const SessionOptions& session_options() const = 0;
    virtual Traffic& traffic() = 0;
    /// Returns false if there are too many connections.
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
  /// Returns whether the peer's kernel has everything that was sent.
  bool is_drained() const;

  /// Takes bytes again after Traffic::take_room() has returned false.
  void go_on();
  /// Cuts the connection if it is late, silent or in the way of others, and asks a silent peer for
  /// a sign of life. Call it several times a second.
  void check(std::int64_t now_us);

 private:
  // SessionSink
  void answer(std::shared_ptr<const WireMessage> message) override;
  bool take_room(std::size_t bytes) override;
  void return_room(std::size_t bytes) override;
  void established() override;
  void take_message(Message message) override;
  void take_subscription(bool joins, std::string_view topic) override;

  /// Calls the function. If it throws, cuts this connection, so that no other is affected.
  template <class Function>
  void guard(const Function& function);
  void go_on(bool hears);
  void check_established(std::int64_t now_us);
  void wait_to_read();
  void read();
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
  std::vector<std::byte> untaken_;  ///< received while the session took no bytes
  bool is_paused_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_counted_ = false;
  std::size_t room_ = 0;  ///< room of the unfinished message
  std::int64_t begun_us_;
  std::int64_t heard_us_;
  std::int64_t pinged_us_ = 0;
  std::int64_t room_since_us_ = 0;
  std::int64_t wrote_us_ = 0;  ///< time when bytes were written last, or the queue began to fill
};

}  // namespace starling::stream::zmtp
