// SPDX-License-Identifier: Apache-2.0
// Divides the work between the loop and the thread: see socket_hub.hpp. The loop waits for the
// thread only in the destructor.
#include "starling/stream/websocket/socket_hub.hpp"

#include <atomic>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "starling/stream/http/problem.hpp"
#include "starling/stream/http/token_gate.hpp"
#include "starling/stream/pools/own_thread.hpp"
#include "starling/stream/sockets/moved_socket.hpp"
#include "starling/stream/websocket/position_feed.hpp"
#include "starling/stream/websocket/socket_thread.hpp"
#include "starling/stream/websocket/web_socket.hpp"

namespace starling::stream {

namespace asio = boost::asio;
namespace beast = boost::beast;

namespace {

constexpr PlaceWords place_words{"WebSockets", "http-views-max", "websockets"};
constexpr std::size_t key_bytes = 24;  // 16 bytes in base64: RFC 6455, section 4.1

bool is_websocket(const HttpHead& head) {
  return head.method == "GET" && beast::iequals(head.upgrade, "websocket") &&
         beast::http::token_list(head.connection).exists("upgrade") &&
         head.websocket_version == "13" && head.websocket_key.size() == key_bytes;
}

/// Returns the head of the request as text, which Beast parses again on the thread.
std::string head_text(const HttpHead& head) {
  return "GET " + head.target + " HTTP/1.1\r\nHost: " + head.host +
         "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: " +
         head.websocket_key + "\r\n\r\n";
}

std::shared_ptr<Places> places_of(const SocketHub::Parts& parts) {
  return std::make_shared<Places>(
      PlacesOptions{.places_max = parts.limits.sockets_max, .quota = parts.quota});
}

/// Returns what makes a WebSocket of `socket` on the thread.
MessageLink::Make connection_of(OwnThread& thread, asio::ip::tcp::socket socket) {
  const auto moved = moved_to(thread.context(), std::move(socket));
  if (moved == nullptr) return {};
  return [moved](const SocketLimits& limits, SocketCounts& counts, MessageLink::Handlers handlers) {
    return std::make_shared<WebSocket>(std::move(*moved), limits, counts, std::move(handlers));
  };
}

}  // namespace

struct SocketHub::State {
  struct Unsent {
    std::shared_ptr<const MirrorRows> rows;
    MirrorState mirror;
  };

  State(SocketThread::Parts thread_parts, PositionFeed::Parts feed_parts, Beside beside,
        std::unique_ptr<OwnThread> own)
      : positions(std::move(feed_parts)),
        move(std::move(beside.move)),
        thread(std::move(thread_parts), beside.thread, std::move(own)) {}

  PositionFeed positions;  ///< only the loop calls its functions
  std::function<MessageLink::Make(HandedOver)> move;
  std::uint64_t feed = 0;                     ///< number of the last feed that the thread asked for
  std::atomic<std::size_t> waiting_bytes{0};  ///< bytes of the ticks that wait for the thread
  std::atomic<unsigned> waiting_shows{0};
  /// Rows that the loop sends to the thread, at the latest when the next tick is published.
  std::vector<Unsent> unsent;
  SocketThread thread;
};

SocketHub::SocketHub(Parts parts) : parts_(std::move(parts)), places_(places_of(parts_)) {
  auto own = std::make_unique<OwnThread>();
  const Beside beside{.thread = own->executor(),
                      .move = [thread = own.get()](HandedOver connection) {
                        return connection_of(*thread, std::move(connection.socket));
                      }};
  begin(beside, std::move(own));
}

SocketHub::SocketHub(Parts parts, Beside beside)
    : parts_(std::move(parts)), places_(places_of(parts_)) {
  begin(std::move(beside), nullptr);
}

void SocketHub::begin(Beside beside, std::unique_ptr<OwnThread> own) {
  const auto to_loop = [this](auto work) { asio::post(parts_.loop, std::move(work)); };
  state_ = std::make_unique<State>(
      SocketThread::Parts{
          .limits = parts_.limits,
          .space = parts_.space,
          .epoch = parts_.epoch,
          .name_of = parts_.name_of,
          .request =
              [this, to_loop](const Peer& peer, std::vector<std::byte> message) {
                to_loop([this, peer, message = std::move(message)]() mutable {
                  deliver(peer, std::move(message));
                });
              },
          .follow =
              [this, to_loop](std::uint64_t reader, std::uint64_t request_id, std::string stream) {
                to_loop([this, reader, request_id, stream = std::move(stream)] {
                  follow(reader, request_id, stream);
                });
              },
          .refusal_of = parts_.refusal_of,
          .unfollow =
              [this, to_loop](const std::string& stream) {
                to_loop([this, stream] { unfollow(stream); });
              },
          .feed = [this,
                   to_loop](std::uint64_t number) { to_loop([this, number] { feed(number); }); }},
      PositionFeed::Parts{.loop = parts_.loop,
                          .copied_rows_max = parts_.limits.copied_rows_max,
                          .is_free = parts_.is_free,
                          .objects = parts_.objects,
                          .send =
                              [this](std::shared_ptr<const MirrorRows> rows,
                                     const MirrorState& mirror, bool is_urgent) {
                                state_->unsent.push_back({std::move(rows), mirror});
                                if (is_urgent) send_rows(false);
                              }},
      std::move(beside), std::move(own));
}

SocketHub::~SocketHub() {
  close();
}

void SocketHub::open(const HttpHead& head, const HttpRespond& respond) {
  if (!is_websocket(head)) {
    HttpAnswer answer = problem_answer(
        426,
        "This path is a WebSocket (RFC 6455, version 13). protocol/README.md describes its "
        "messages.");
    answer.fields.emplace_back("Upgrade", "websocket");
    return respond(std::move(answer));
  }
  if (is_closed_) return respond(stopping_answer());
  const Peer peer{.connection = new_reader(),
                  .in_process = true,
                  .principal = head.principal,
                  .address = address_of(head.from.peer_address)};
  const Places::Taken taken =
      places_->take(peer.connection, owner_of(peer.principal, peer.address));
  if (taken.outcome != Places::Outcome::taken) return respond(no_place_answer(place_words, taken));
  if (taken.gave_way)
    state_->thread.post([this, reader = *taken.gave_way] { state_->thread.give_way(reader); });
  const auto place = std::make_shared<const HeldPlace>(places_, peer.connection);
  HttpAnswer answer{.status = 101, .body = {}};
  answer.is_headless = true;
  const bool names_protocol =
      beast::http::token_list(head.websocket_protocol).exists(std::string(socket_protocol));
  answer.hand_over = [this, place, peer, cuts = cuts_, names_protocol,
                      text = head_text(head)](HandedOver connection) {
    if (cuts != cuts_) return;  // cut() may have meant it; if not, the client reconnects
    const std::string received = connection.received;
    auto moved = state_->move(std::move(connection));
    if (!moved) return;
    state_->thread.post(
        [this, place, moved = std::move(moved),
         opening = SocketOpening{.peer = peer,
                                 .head = text + received,
                                 .protocol = names_protocol ? socket_protocol : ""}] {
          if (places_->has(opening.peer.connection)) state_->thread.add(opening, moved, place);
        });
  };
  respond(std::move(answer));
}

/// Returns the number of a new reader, for Peer::connection. The commands endpoint numbers its
/// connections from 1, and never reaches 2^63.
std::uint64_t SocketHub::new_reader() {
  constexpr std::uint64_t first = std::uint64_t{1} << 63;
  return first + readers_++;
}

void SocketHub::deliver(const Peer& peer, std::vector<std::byte> message) {
  if (is_closed_) return;
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(message));
  parts_.deliver(peer, ReceivedBytes{owner, *owner});
}

void SocketHub::replied(std::uint64_t reader, const protocol::Frame& frame) {
  if (is_closed_) return;
  state_->thread.post([this, reader, frame] { state_->thread.take_reply(reader, frame); });
}

void SocketHub::follow(std::uint64_t reader, std::uint64_t request_id, const std::string& stream) {
  if (is_closed_) return;
  const auto problem = parts_.fault_of_stream(stream);
  if (!problem) ++followed_[stream];
  state_->thread.post([this, reader, request_id, stream, problem] {
    state_->thread.followed(reader, request_id, stream, problem);
  });
}

void SocketHub::unfollow(const std::string& stream) {
  const auto found = followed_.find(stream);
  if (found != followed_.end() && --found->second == 0) followed_.erase(found);
}

void SocketHub::feed(std::uint64_t number) {
  state_->positions.end();
  state_->unsent.clear();
  state_->feed = number;
  if (number != 0 && !is_closed_) state_->positions.begin();
}

void SocketHub::publish(const std::string& stream, const protocol::TickHeader& header,
                        const protocol::TickMessage& message) {
  if (is_closed_ || !followed_.contains(stream)) return;
  // If too many bytes wait for the thread, the tick is lost for all sockets that follow the stream.
  std::size_t bytes = message.bytes();
  std::optional<protocol::TickMessage> kept;
  if (state_->waiting_bytes + bytes <= parts_.limits.follow_bytes_max)
    kept = message;
  else
    bytes = 0;
  state_->waiting_bytes += bytes;
  state_->thread.post([this, stream, bytes, header, kept = std::move(kept)]() mutable {
    state_->waiting_bytes -= bytes;
    state_->thread.publish(stream, header, std::move(kept));
  });
}

void SocketHub::take_rows(const Staging& staging, Tick tick, std::int64_t tau_us) {
  if (!is_closed_) state_->positions.take(staging, {tick, tau_us});
}

void SocketHub::show() {
  if (state_->feed != 0 && !is_closed_) send_rows(true);
}

/// Sends all rows in one post, which wakes the thread once. If the thread is behind, it shows only
/// the newest positions.
void SocketHub::send_rows(bool then_shows) {
  if (then_shows) ++state_->waiting_shows;
  state_->thread.post(
      [this, number = state_->feed, rows = std::exchange(state_->unsent, {}), then_shows] {
        for (const State::Unsent& each : rows)
          state_->thread.take_rows(number, each.rows.get(), each.mirror);
        if (then_shows && --state_->waiting_shows == 0) state_->thread.show();
      });
}

void SocketHub::cut(const std::function<bool(zmtp::PrincipalId)>& is_meant) {
  ++cuts_;
  state_->thread.post([this, is_meant] { state_->thread.cut(is_meant); });
}

void SocketHub::close() {
  if (std::exchange(is_closed_, true)) return;
  state_->positions.end();
  state_->thread.post([this] { state_->thread.close(); });
}

const SocketCounts& SocketHub::counts() const {
  return state_->thread.counts();
}

}  // namespace starling::stream
