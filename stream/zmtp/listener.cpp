// SPDX-License-Identifier: Apache-2.0
// The first lane's thread accepts; each connection stays with one lane: see listener.hpp.
#include "starling/stream/zmtp/listener.hpp"

#include <cerrno>
#include <future>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/insist.hpp"

namespace starling::stream::zmtp {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr int accepts_per_turn = 64;
constexpr milliseconds check_period{250};
// How long nothing is accepted after the process has run out of descriptors or memory.
constexpr milliseconds shortage_period{100};
constexpr milliseconds close_period{2};

/// Returns true if accept() failed only because of the connection that it would have returned.
bool concerns_one(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO;
}

int domain_of(int descriptor) {
  int domain = AF_INET;
  socklen_t size = sizeof(domain);
  ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain;
}

}  // namespace

struct Listener::State final : Connection::Owner {
  struct OwnLane {
    OwnLane(std::size_t index, asio::io_context& loop) : lane{index, loop}, timer(loop) {}
    Lane lane;
    std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections;
    asio::steady_timer timer;
    std::chrono::steady_clock::time_point closes_at{};
    std::promise<void> closed;

    /// A copy, because a connection that ends leaves `connections`.
    std::vector<std::shared_ptr<Connection>> all() const {
      std::vector<std::shared_ptr<Connection>> copy;
      copy.reserve(connections.size());
      for (const auto& [number, connection] : connections) copy.push_back(connection);
      return copy;
    }
  };

  State(IoThreads& threads, IoThreadRange range, int descriptor, const ListenerOptions& the_options,
        Traffic& the_traffic)
      : options(the_options),
        own_traffic(the_traffic),
        domain(domain_of(descriptor)),
        connections({.places_max = options.connections_max, .quota = options.connection_quota}),
        handshakes(handshake_places(options.handshakes_max)),
        acceptor(threads.loop(range.first), descriptor),
        shortage(threads.loop(range.first)) {
    if (options.session.authentication != nullptr)
      check_invariant(sodium_init() >= 0, "the system has random numbers");
    for (std::size_t index = 0; index < range.count; ++index)
      lanes.push_back(std::make_unique<OwnLane>(index, threads.loop(range.first + index)));
  }

  // Connection::Owner
  const SessionOptions& session_options() const override { return options.session; }
  Traffic& traffic() override { return own_traffic; }
  void heard(Connection& connection) override {
    handshakes.set_idle(connection.link()->number, false);
  }
  bool may_establish(Connection& connection) override {
    const Link& link = *connection.link();
    handshakes.give_back(link.number);
    const Places::Taken place = connections.take(link.number, owner_of(link));
    if (place.gave_way) cut_later(*place.gave_way, true);
    if (place.outcome == Places::Outcome::taken) return true;
    ++refused;
    return false;
  }
  void ended(Connection& connection, std::optional<Fault> fault) override {
    const std::uint64_t number = connection.link()->number;
    connections.give_back(number);
    handshakes.give_back(number);
    if (fault) faults.add(*fault);
    lanes[connection.link()->lane.index]->connections.erase(number);
  }

  OwnLane& lane_of(std::uint64_t number) { return *lanes[number % lanes.size()]; }

  /// Cuts the connection that gave way. `is_established` says which place it lost: a handshake may
  /// have ended meanwhile.
  void cut_later(std::uint64_t number, bool is_established) {
    OwnLane& lane = lane_of(number);
    asio::post(lane.lane.loop, [&lane, number, is_established] {
      const auto found = lane.connections.find(number);
      if (found == lane.connections.end()) return;
      const auto connection = found->second;
      if (connection->is_established() == is_established) connection->cut(Fault::gave_way);
    });
  }

  void wait_to_accept() {
    insist([this] {
      acceptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this](const boost::system::error_code& error) {
                            if (error == asio::error::operation_aborted || is_closing) return;
                            if (error) return accept_later();
                            accept();
                          });
    });
  }

  void accept_later() {
    insist([this] {
      shortage.expires_after(shortage_period);
      shortage.async_wait([this](const boost::system::error_code& error) {
        if (!error && !is_closing) accept();
      });
    });
  }

  void accept() {
    for (int count = 0; count < accepts_per_turn; ++count) {
      sockaddr_storage peer{};
      socklen_t size = sizeof(peer);
      const int descriptor = ::accept4(acceptor.native_handle(), reinterpret_cast<sockaddr*>(&peer),
                                       &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (descriptor >= 0) {
        add(descriptor, address_of(peer));
        continue;
      }
      if (errno == EAGAIN) break;
      if (!concerns_one(errno)) return accept_later();  // no descriptor, no memory, or a firewall
    }
    wait_to_accept();
  }

  void add(int descriptor, const PeerAddress& address) {
    OwnLane& lane = lane_of(++last_number);
    try {
      Connection::Socket socket(lane.lane.loop);
      boost::system::error_code error;
      socket.assign(asio::generic::stream_protocol(domain, domain == AF_UNIX ? 0 : IPPROTO_TCP),
                    descriptor, error);
      if (error) {  // the kernel watches no more sockets
        ::close(descriptor);
        ++refused;
        return;
      }
      add(lane, std::move(socket), address);
    } catch (const std::exception&) {
      handshakes.give_back(last_number);
      faults.add(Fault::memory);
    }
  }

  void add(OwnLane& lane, Connection::Socket socket, const PeerAddress& address) {
    // With keys, only the handshake shows whose place the connection would take.
    if (options.session.authentication == nullptr &&
        !connections.has_place_for(owner_of(PrincipalId::anonymous, address))) {
      ++refused;
      return;
    }
    const auto link = std::make_shared<Link>(last_number, address, lane.lane);
    const Places::Taken place =
        handshakes.take(link->number, owner_of(PrincipalId::anonymous, address), true);
    if (place.gave_way) cut_later(*place.gave_way, false);
    if (place.outcome != Places::Outcome::taken) {
      ++refused;
      return;
    }
    asio::post(lane.lane.loop,
               [this, &lane, link,
                socket = std::make_shared<Connection::Socket>(std::move(socket))]() mutable {
                 begin(lane, std::move(*socket), link);
               });
  }

  void begin(OwnLane& lane, Connection::Socket socket, const std::shared_ptr<Link>& link) try {
    const auto connection = std::make_shared<Connection>(*this, std::move(socket), link);
    lane.connections.emplace(link->number, connection);
    if (is_closing) return connection->close();
    connection->start();
  } catch (const std::exception&) {
    handshakes.give_back(link->number);
    faults.add(Fault::memory);
  }

  void check_later(OwnLane& lane) {
    insist([this, &lane] {
      lane.timer.expires_after(check_period);
      lane.timer.async_wait([this, &lane](const boost::system::error_code& error) {
        if (error || is_closing) return;
        const std::int64_t now_us = steady_now_us();
        insist([&] {
          for (const auto& connection : lane.all()) connection->check(now_us);
        });
        check_later(lane);
      });
    });
  }

  void close_lane(OwnLane& lane) {
    const bool is_late = std::chrono::steady_clock::now() >= lane.closes_at;
    for (const auto& connection : lane.all())
      if (is_late || !connection->is_established() || connection->is_drained()) connection->close();
    if (lane.connections.empty()) return lane.closed.set_value();
    lane.timer.expires_after(close_period);
    lane.timer.async_wait([this, &lane](const boost::system::error_code&) { close_lane(lane); });
  }

  ListenerOptions options;
  Traffic& own_traffic;
  int domain;
  Places connections;
  Places handshakes;
  asio::posix::stream_descriptor acceptor;
  asio::steady_timer shortage;
  std::vector<std::unique_ptr<OwnLane>> lanes;
  std::uint64_t last_number = 0;
  std::atomic<std::uint64_t> refused{0};
  std::atomic<bool> is_closing{false};
  FaultCounts faults;
};

Listener::Listener(IoThreads& threads, IoThreadRange range, int descriptor,
                   const ListenerOptions& options, Traffic& traffic)
    : state_(std::make_unique<State>(threads, range, descriptor, options, traffic)) {}

Listener::~Listener() {
  close(std::chrono::steady_clock::now());
}

void Listener::start() {
  for (const auto& lane : state_->lanes)
    asio::post(lane->lane.loop, [state = state_.get(), each = lane.get()] {
      state->check_later(*each);
      if (each->lane.index == 0) state->wait_to_accept();
    });
}

std::size_t Listener::lane_count() const {
  return state_->lanes.size();
}

Lane& Listener::lane(std::size_t index) {
  return state_->lanes[index]->lane;
}

const Places& Listener::connections() const {
  return state_->connections;
}

const Places& Listener::handshakes() const {
  return state_->handshakes;
}

std::uint64_t Listener::refused_count() const {
  return state_->refused;
}

const FaultCounts& Listener::faults() const {
  return state_->faults;
}

void Listener::cut(const std::function<bool(PrincipalId)>& is_meant) {
  for (const auto& lane : state_->lanes)
    asio::post(lane->lane.loop, [each = lane.get(), is_meant] {
      for (const auto& connection : each->all())
        if (connection->is_established() && is_meant(connection->link()->principal))
          connection->cut(Fault::revoked);
    });
}

// The first lane closes the acceptor before any lane closes its connections, so that no connection
// is added later.
void Listener::close(std::chrono::steady_clock::time_point until) {
  if (state_->is_closing.exchange(true)) return;
  std::promise<void> accepts_no_more;
  asio::post(state_->lanes[0]->lane.loop, [&] {
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
    state_->shortage.cancel();
    accepts_no_more.set_value();
  });
  accepts_no_more.get_future().wait();
  for (const auto& lane : state_->lanes)
    asio::post(lane->lane.loop, [state = state_.get(), each = lane.get(), until] {
      each->timer.cancel();
      each->closes_at = until;
      state->close_lane(*each);
    });
  for (const auto& lane : state_->lanes) lane->closed.get_future().wait();
  // Handlers of timers that are queued already run before these functions.
  for (const auto& lane : state_->lanes) {
    std::promise<void> passed;
    asio::post(lane->lane.loop, [&] { passed.set_value(); });
    passed.get_future().wait();
  }
}

// If memory runs out, the connection's next check() calls go_on().
void post_go_on(const std::shared_ptr<Link>& link) try {
  asio::post(link->lane.loop, [link] {
    if (link->connection == nullptr) return;
    const auto self = link->connection->shared_from_this();  // go_on() may close it
    self->go_on();
  });
} catch (const std::bad_alloc&) {
  return;
}

}  // namespace starling::stream::zmtp
