// SPDX-License-Identifier: Apache-2.0
// Receives a long body directly into the memory of the body, and everything else into one buffer of
// the thread: see connection.hpp.
#include "starling/stream/zmtp/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <new>
#include <utility>

#include <sys/socket.h>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/zmtp/command.hpp"
#include "starling/stream/zmtp/tcp_state.hpp"

namespace starling::stream::zmtp {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{16} << 10;
// After this many bytes, other connections of the thread get their turn. Short requests take more
// time than their bytes tell.
constexpr std::size_t turn_bytes = std::size_t{1} << 20;
constexpr std::int64_t read_turn_us = 200;

constexpr std::int64_t handshake_us = 5'000'000;
constexpr std::int64_t ping_us = 10'000'000;
constexpr std::int64_t silent_us = 30'000'000;
// The most time for which an unfinished request may keep room that other connections wait for, and
// the most time without a byte of the request meanwhile.
constexpr std::int64_t room_us = 5'000'000;
constexpr std::int64_t stalled_us = 1'000'000;
// A subscriber sends little but subscriptions, and each costs about a microsecond. So the thread
// reads few bytes of it at a time, and after a burst that has room for subscriber_topics_max
// topics, only as many bytes a second.
constexpr std::size_t subscriber_turn_bytes = 4096;
constexpr std::int64_t subscriber_us_per_byte = 10;
constexpr std::int64_t subscriber_burst_us = (std::int64_t{512} << 10) * subscriber_us_per_byte;
// The most answers that wait for a peer that sends PINGs and does not read.
constexpr std::size_t answers_max = 16;
// The memory that a short request takes besides its bytes, until the loop has taken it. The number
// is generous, so that it also limits how many requests wait.
constexpr std::size_t part_bytes_besides = 1024;
constexpr std::size_t delimiter_room = part_bytes_besides;

thread_local std::array<std::byte, buffer_bytes> buffer;

}  // namespace

Connection::Connection(Owner& owner, Socket socket, std::shared_ptr<Link> link)
    : owner_(owner),
      socket_(std::move(socket)),
      link_(std::move(link)),
      session_(owner.session_options(), *this),
      begun_us_(steady_now_us()),
      heard_us_(begun_us_) {
  link_->connection = this;
  set_tcp_options(socket_.native_handle());
}

Connection::~Connection() {
  link_->connection = nullptr;
}

template <class Function>
void Connection::guard(const Function& function) try {
  function();
} catch (const std::bad_alloc&) {
  end(Fault::memory);
} catch (const std::exception&) {
  end(Fault::internal);
}

void Connection::start() {
  guard([this] {
    flush();
    if (!is_closed()) wait_to_read();
  });
}

void Connection::wait_to_read() {
  if (is_closed() || std::exchange(is_reading_, true)) return;
  socket_.async_wait(Socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->is_reading_ = false;
                       if (!error) self->read_by_turns();
                     });
}

/// Returns whether a subscriber has used its allowance up, or the loop lets the connection rest.
/// check() then lets it go on. A connection with a part of a long message does not rest, because it
/// holds room that others may wait for.
bool Connection::must_rest() {
  std::int64_t until_us = 0;
  if (owner_.session_options().role == Role::publisher)
    until_us = allowance_full_us_ - subscriber_burst_us;
  else if (room_ <= delimiter_room)
    until_us = link_->rests_until_us;
  is_resting_ = until_us > 0 && until_us > steady_now_us();
  return is_resting_;
}

void Connection::read_by_turns() {
  guard([this] {
    if (!is_closed() && !is_paused_) link_->lane.reads->add(shared_from_this());
  });
}

bool Connection::take_read_turn() {
  bool has_more = false;
  guard([&] { has_more = !is_closed() && !is_paused_ && read(); });
  return has_more;
}

bool Connection::read() {
  if (must_rest()) return false;
  if (!untaken_.empty()) {
    const std::vector<std::byte> bytes = std::exchange(untaken_, {});
    if (!feed(bytes)) return false;
  }
  const bool is_subscriber = owner_.session_options().role == Role::publisher;
  const std::size_t turn_max = is_subscriber ? subscriber_turn_bytes : turn_bytes;
  const std::size_t buffer_max = is_subscriber ? subscriber_turn_bytes : buffer.size();
  const std::int64_t until_us = steady_now_us() + read_turn_us;
  for (std::size_t turn = 0; turn < turn_max && heard_us_ < until_us;) {
    const std::span place = session_.rest_of_body();
    std::array<iovec, 2> views{iovec{place.data(), place.size()}, iovec{buffer.data(), buffer_max}};
    msghdr message{};
    message.msg_iov = place.empty() ? &views[1] : views.data();
    message.msg_iovlen = place.empty() ? 1 : 2;
    const ssize_t received = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_for_more();
    if (received <= 0) {
      end(std::nullopt);
      return false;
    }
    const auto count = static_cast<std::size_t>(received);
    heard_us_ = steady_now_us();
    if (!std::exchange(is_heard_, true)) owner_.heard(*this);
    turn += count;
    if (is_subscriber)
      allowance_full_us_ = std::max(allowance_full_us_, heard_us_) +
                           static_cast<std::int64_t>(count) * subscriber_us_per_byte;
    const std::size_t in_place = std::min(count, place.size());
    if (in_place > 0) session_.filled(in_place);
    if (!feed(std::span(buffer).first(count - in_place))) return false;
    if (count < place.size() + buffer_max) return wait_for_more();  // the socket is empty
  }
  flush();
  return !is_closed();
}

bool Connection::wait_for_more() {
  flush();
  wait_to_read();
  return false;
}

bool Connection::feed(std::span<const std::byte> bytes) {
  const std::size_t used = session_.feed(bytes);
  if (is_closed()) return false;
  if (const auto fault = session_.fault()) {
    flush();  // sends ERROR, if that is the session's answer
    end(*fault);
    return false;
  }
  if (used == bytes.size() && !is_paused_) return true;
  untaken_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end());
  flush();
  return false;
}

void Connection::go_on() {
  go_on(true);
}

void Connection::go_on(bool hears) {
  if (is_closed() || !std::exchange(is_paused_, false)) return;
  if (hears) {
    heard_us_ = steady_now_us();
    return read_by_turns();
  }
  guard([this] {
    const std::vector<std::byte> bytes = std::exchange(untaken_, {});
    if (!feed(bytes)) return;
    flush();
    wait_to_read();
  });
}

bool Connection::send(std::shared_ptr<const WireMessage> message, std::size_t charge) try {
  if (queue_.empty()) wrote_us_ = steady_now_us();
  queue_.push(std::move(message), charge);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Connection::flush() {
  guard([this] { write(); });
}

void Connection::write() {
  if (is_writing_) return;
  std::size_t turn = 0;
  while (!is_closed() && !queue_.empty()) {
    if (turn >= turn_bytes) return wait_to_write();
    const std::span views = queue_.next(session_.cipher());
    msghdr message{};
    message.msg_iov = views.data();
    message.msg_iovlen = views.size();
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_to_write();
    if (sent < 0) return end(std::nullopt);
    turn += static_cast<std::size_t>(sent);
    if (sent > 0) wrote_us_ = steady_now_us();
    const auto written = queue_.written(static_cast<std::size_t>(sent));
    if (written.messages > 0) owner_.traffic().written(*this, written);
  }
  answers_ = 0;
}

void Connection::wait_to_write() {
  is_writing_ = true;
  socket_.async_wait(Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->is_writing_ = false;
                       if (!error && !self->is_closed()) self->flush();
                     });
}

bool Connection::is_drained() const {
  return is_closed() || (queue_.empty() && unacknowledged_bytes(socket_.native_handle()) == 0);
}

void Connection::cut(Fault fault) {
  end(fault);
}

void Connection::close() {
  end(std::nullopt);
}

void Connection::end(std::optional<Fault> fault) {
  if (is_closed()) return;
  const auto self = shared_from_this();
  boost::system::error_code ignored;
  socket_.close(ignored);
  link_->is_open = false;
  link_->connection = nullptr;
  session_.fail(fault.value_or(Fault::silent));  // takes no more bytes
  owner_.traffic().closed(*this, std::exchange(room_, 0), queue_.charge());
  owner_.ended(*this, fault);
}

void Connection::check(std::int64_t now_us) {
  if (is_closed()) return;
  // A paused connection is not read, so reading does not notice a reset.
  if (is_paused_ && is_reset(socket_.native_handle())) return end(std::nullopt);
  guard([&] { check_established(now_us); });
  if (is_resting_ && !is_closed() && !must_rest()) read_by_turns();
  // post_go_on() does nothing if memory has run out.
  if (!is_paused_) return;
  go_on(false);
  if (!is_paused_) heard_us_ = now_us;
}

void Connection::check_established(std::int64_t now_us) {
  if (!session_.is_established()) {
    if (now_us - begun_us_ > handshake_us) cut(Fault::too_late);
    return;
  }
  if (is_vanished(now_us)) return cut(Fault::silent);
  if (!is_writing_ && !queue_.empty()) flush();  // its sender may have run out of memory
  if (is_closed()) return;
  if (!queue_.empty() && now_us - wrote_us_ > room_us && owner_.traffic().holds_too_much())
    return cut(Fault::stalled);
  // A paused connection may hold the room of an empty delimiter. If it holds more room, other
  // connections wait for this room while the connection itself waits.
  if (is_paused_ && room_ <= delimiter_room) return;
  const bool is_stalled = now_us - room_since_us_ > room_us || now_us - heard_us_ > stalled_us;
  if (room_ > 0 && is_stalled && owner_.traffic().lacks_room()) return cut(Fault::stalled);
  if (is_paused_) return;
  const bool is_due = now_us - std::max(heard_us_, pinged_us_) > ping_us;
  if (!is_due || !session_.knows_ping() || !queue_.empty()) return;
  pinged_us_ = now_us;
  constexpr std::array<std::byte, 2> no_ttl{};
  queue_.push_first(WireMessage::command(command("PING", no_ttl)));
  flush();
}

// A peer that does not read has not vanished: a PING waits until the peer has read all bytes before
// it.
bool Connection::is_vanished(std::int64_t now_us) const {
  if (is_peer_gone(socket_.native_handle(), silent_us)) return true;
  return session_.knows_ping() && !is_paused_ && queue_.empty() && pinged_us_ > heard_us_ &&
         now_us - heard_us_ > silent_us;
}

void Connection::answer(std::shared_ptr<const WireMessage> message) {
  if (session_.is_established() && ++answers_ > answers_max) return;
  queue_.push_first(std::move(message));
}

bool Connection::take_room(std::size_t bytes) {
  bytes += part_bytes_besides;
  if (!owner_.traffic().take_room(*this, bytes)) {
    is_paused_ = true;
    return false;
  }
  // The time of a body that has waited for room begins when the body gets the room.
  if (room_ <= delimiter_room) room_since_us_ = steady_now_us();
  room_ += bytes;
  return true;
}

void Connection::return_room(std::size_t bytes) {
  bytes += part_bytes_besides;
  room_ -= bytes;
  owner_.traffic().return_room(*this, bytes);
}

void Connection::established() {
  link_->principal = session_.principal();
  if (!owner_.may_establish(*this)) return end(std::nullopt);
  is_counted_ = true;
  owner_.traffic().established(*this);
}

void Connection::take_message(Message message) {
  owner_.traffic().take_message(*this, std::move(message), std::exchange(room_, 0));
}

void Connection::take_subscription(bool joins, std::string_view topic) {
  owner_.traffic().take_subscription(*this, joins, topic);
}

}  // namespace starling::stream::zmtp
