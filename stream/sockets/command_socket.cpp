// SPDX-License-Identifier: Apache-2.0
// Passes requests from the I/O threads to the loop, and replies back: see command_socket.hpp.
#include "starling/stream/sockets/command_socket.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/sockets/bind_endpoint.hpp"
#include "starling/stream/sockets/receive_budget.hpp"
#include "starling/stream/zmtp/listener.hpp"
#include "starling/stream/zmtp/mailbox.hpp"

namespace starling::stream {

using zmtp::Connection;
using zmtp::Link;
using zmtp::Mailbox;
using zmtp::WireMessage;

namespace {

// A request of at most this many bytes may overdraw the budget, if its connection has no other
// request that waits.
constexpr std::size_t short_bytes_max = std::size_t{16} << 10;
// The budget exceeds the longest request by at least this much. The request also needs room for the
// bytes of encryption, beside other connections' empty delimiters.
constexpr std::size_t budget_spare_bytes = std::size_t{4} << 20;
// The memory of a waiting reply besides its bytes.
constexpr std::size_t reply_bytes_besides = 512;
constexpr std::int64_t rested_us = 1'000'000;

struct Request {
  std::shared_ptr<Link> link;
  zmtp::Message message;
  std::size_t room = 0;
};

/// The principal and the number of a connection.
using LinkKey = std::pair<zmtp::PrincipalId, std::uint64_t>;

LinkKey key_of(const Link& link) {
  return {link.principal, link.number};
}

/// Returns whether the loop takes one request of the connection before the next one is read. So it
/// is while it is not known whether the principal must rest, and for a while after a rest.
bool is_read_one_by_one(const Link& link) {
  if (link.principal == zmtp::PrincipalId::anonymous) return false;
  const std::int64_t until_us = link.rests_until_us;
  return !link.is_served || (until_us > 0 && steady_now_us() < until_us + rested_us);
}

struct Reply {
  std::shared_ptr<Link> link;
  std::shared_ptr<const WireMessage> message;
  std::size_t charge = 0;
};

}  // namespace

struct CommandSocket::State final : zmtp::Traffic, ReceivedRoom::Keeper {
  /// The replies on their way to one I/O thread.
  struct Outbox {
    Outbox(State& state, boost::asio::io_context& loop)
        : mailbox(loop, [this, &state] { state.send_all(mailbox.take()); }) {}
    Mailbox<Reply> mailbox;
  };

  State(boost::asio::io_context& the_loop, zmtp::IoThreads& threads,
        const CommandSocketOptions& the_options, Handlers the_handlers)
      : loop(the_loop),
        options(the_options),
        handlers(std::move(the_handlers)),
        budget(std::max(options.receive_bytes_max, options.message_bytes_max + budget_spare_bytes),
               zmtp::post_go_on),
        inbox(loop, [this] { arrived(); }),
        ended(loop, [this] { forget_ended(); }),
        bound(bind_endpoint(options.endpoint, options.reach_allowed)),
        listener(threads, options.io_threads, bound.release(),
                 {.session = {.role = zmtp::Role::router,
                              .message_bytes_max = options.message_bytes_max,
                              .authentication = options.authentication},
                  .connections_max = options.connections_max,
                  .connection_quota = options.connection_quota,
                  .handshakes_max = options.handshakes_max},
                 *this) {
    for (std::size_t lane = 0; lane < listener.lane_count(); ++lane)
      outboxes.push_back(std::make_unique<Outbox>(*this, listener.lane(lane).loop));
    listener.start();
  }
  ~State() override {
    listener.close(std::chrono::steady_clock::now() + std::chrono::milliseconds(options.linger_ms));
  }

  // Traffic. I/O threads call these functions.

  bool take_room(Connection& from, std::size_t bytes) override {
    Link& link = *from.link();
    const std::size_t waiting_max = is_read_one_by_one(link) ? 1 : options.message_bytes_max;
    if (link.request_bytes >= waiting_max) {
      link.waits_for_loop = true;
      // The loop may have taken requests since the comparison.
      if (link.request_bytes >= waiting_max || !link.waits_for_loop.exchange(false)) return false;
    }
    const bool may_overdraw = bytes <= short_bytes_max && link.request_bytes == 0;
    return budget.take(from.link(), bytes, may_overdraw);
  }
  void return_room(Connection& from, std::size_t bytes) override {
    budget.give_back(from.link(), bytes);
  }
  void take_message(Connection& from, zmtp::Message message, std::size_t room) override {
    from.link()->request_bytes += room;
    try {
      inbox.push({from.link(), std::move(message), room});
    } catch (...) {
      from.link()->request_bytes -= room;
      budget.give_back(from.link(), room);
      throw;
    }
  }
  void take_subscription(Connection&, bool, std::string_view) override {}
  void established(Connection&) override {}
  void written(Connection& connection, const zmtp::WriteQueue::Written& written) override {
    give_back_reply(*connection.link(), written.charge);
  }
  void closed(Connection& connection, std::size_t room, std::size_t charge) override {
    give_back_reply(*connection.link(), charge);
    budget.forget(connection.link());
    if (room > 0) budget.give_back(connection.link(), room);
    try {
      ended.push(connection.link());
    } catch (const std::bad_alloc&) {
      has_lost_an_end = true;
    }
  }
  bool lacks_room() const override { return budget.has_waiting(); }
  bool holds_too_much() const override { return waiting_bytes > options.reply_bytes_max / 2; }

  void give_back_reply(Link& link, std::size_t charge) {
    link.reply_bytes -= charge;
    waiting_bytes -= charge;
  }

  void send_all(std::vector<Reply> replies) {
    for (Reply& reply : replies) {
      Connection* const connection = reply.link->connection;
      if (connection != nullptr && connection->send(std::move(reply.message), reply.charge))
        continue;
      give_back_reply(*reply.link, reply.charge);
      if (connection != nullptr) connection->cut(zmtp::Fault::memory);
    }
    for (const Reply& reply : replies)
      if (reply.link->connection != nullptr) reply.link->connection->flush();
  }

  // The loop calls the functions from here on.

  /// Forgets the connections that have ended, even while no requests are taken, so that the ends do
  /// not pile up. Requests of closed connections may still wait.
  void forget_ended() {
    for (const std::shared_ptr<Link>& link : ended.take()) links.erase(key_of(*link));
    if (has_lost_an_end.exchange(false))
      std::erase_if(links, [](const auto& each) { return !each.second->is_open; });
  }

  void arrived() {
    for (Request& request : inbox.take()) take(std::move(request));
  }

  void take_back(const std::shared_ptr<Link>& link, std::size_t bytes) override {
    link->request_bytes -= bytes;
    link->is_served = true;
    if (link->waits_for_loop.exchange(false)) zmtp::post_go_on(link);
    budget.give_back(link, bytes);
  }

  void take(Request request) {
    const Link& link = *request.link;
    ReceivedRoom room(*this, request.link, request.room);
    if (stopped) return;
    // The end of an open connection is still to come. forget_ended() then erases the link.
    if (link.is_open) links.try_emplace(key_of(link), request.link);
    auto& parts = request.message.parts;
    const std::size_t count = request.message.count;
    const Peer peer{.connection = link.number,
                    .has_delimiter = count == 2 && parts[0].bytes().empty(),
                    .principal = link.principal,
                    .address = link.address};
    if (count != 1 && !peer.has_delimiter) return handlers.malformed(peer, std::move(room));
    const zmtp::Body& body = parts[count - 1];
    handlers.request(peer, {body.owner(), body.bytes()}, std::move(room));
  }

  /// Returns whether too many bytes would wait for the principal with `charge` more bytes.
  bool is_beyond_quota(zmtp::PrincipalId principal, std::size_t charge) const {
    if (!options.principal_reply_bytes_max) return false;
    const auto bytes_max = options.principal_reply_bytes_max(principal);
    if (!bytes_max) return false;
    std::uint64_t waiting = charge;
    for (auto at = links.lower_bound({principal, 0});
         at != links.end() && at->first.first == principal; ++at)
      waiting += at->second->reply_bytes;
    return waiting > *bytes_max;
  }

  Sent send(const Peer& peer, const protocol::Frame& body) try {
    const auto found = links.find({peer.principal, peer.connection});
    if (found == links.end() || !found->second->is_open) return Sent::peer_gone;
    const std::shared_ptr<Link>& link = found->second;
    const std::size_t charge = body.size() + reply_bytes_besides;
    const std::size_t of_peer = link->reply_bytes;
    // A peer without a waiting reply gets a short reply in any case.
    const bool is_short = of_peer == 0 && charge <= short_bytes_max;
    const bool is_full = (of_peer > 0 && of_peer + charge > options.peer_reply_bytes_max) ||
                         (!is_short && waiting_bytes + charge > options.reply_bytes_max);
    if (is_full || (!is_short && is_beyond_quota(link->principal, charge))) return Sent::peer_full;
    return put_into_outbox({link, wire_message(peer, body), charge}) ? Sent::queued
                                                                     : Sent::no_memory;
  } catch (const std::bad_alloc&) {
    return Sent::no_memory;
  }

  static std::shared_ptr<const WireMessage> wire_message(const Peer& peer,
                                                         const protocol::Frame& body) {
    std::vector<zmtp::WirePart> parts;
    parts.reserve(2);
    if (peer.has_delimiter) parts.emplace_back();
    const auto owner = std::make_shared<protocol::Frame>(body);
    parts.push_back({owner, owner->bytes()});
    return std::make_shared<WireMessage>(std::move(parts));
  }

  /// Charges the reply before the I/O thread has it, because this thread gives the charge back.
  bool put_into_outbox(const Reply& reply) {
    reply.link->reply_bytes += reply.charge;
    waiting_bytes += reply.charge;
    try {
      outboxes[reply.link->lane.index]->mailbox.push(reply);
      return true;
    } catch (const std::bad_alloc&) {
      give_back_reply(*reply.link, reply.charge);
      return false;
    }
  }

  boost::asio::io_context& loop;
  const CommandSocketOptions options;
  Handlers handlers;
  std::atomic<std::size_t> waiting_bytes{0};  ///< bytes of waiting replies
  ReceiveBudget budget;
  Mailbox<Request> inbox;
  Mailbox<std::shared_ptr<Link>> ended;
  std::atomic<bool> has_lost_an_end{false};
  /// The connections that have sent a request and are open, those of one principal together.
  std::map<LinkKey, std::shared_ptr<Link>> links;
  bool stopped = false;
  std::vector<std::unique_ptr<Outbox>> outboxes;
  BoundEndpoint bound;
  zmtp::Listener listener;
};

CommandSocket::CommandSocket(boost::asio::io_context& loop, zmtp::IoThreads& threads,
                             const CommandSocketOptions& options, Handlers handlers)
    : state_(std::make_unique<State>(loop, threads, options, std::move(handlers))) {}

CommandSocket::~CommandSocket() = default;

const std::string& CommandSocket::endpoint() const {
  return state_->bound.endpoint();
}

std::size_t CommandSocket::connection_count() const {
  return state_->listener.connections().count();
}

std::size_t CommandSocket::handshake_count() const {
  return state_->listener.handshakes().count();
}

Places::GaveWay CommandSocket::gave_way() const {
  return state_->listener.connections().gave_way();
}

std::uint64_t CommandSocket::refused_count() const {
  return state_->listener.refused_count();
}

const zmtp::FaultCounts& CommandSocket::faults() const {
  return state_->listener.faults();
}

std::size_t CommandSocket::reply_bytes() const {
  return state_->waiting_bytes;
}

CommandSocket::Sent CommandSocket::send(const Peer& peer, const protocol::Frame& body) {
  return state_->send(peer, body);
}

void CommandSocket::cut(const std::function<bool(zmtp::PrincipalId)>& is_meant) {
  state_->listener.cut(is_meant);
}

void CommandSocket::stop_reading() {
  state_->stopped = true;
}

}  // namespace starling::stream
