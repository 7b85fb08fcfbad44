// SPDX-License-Identifier: Apache-2.0
// Attacks over ZeroMQ, encrypted if the server has keys: see hostile_kinds.hpp.
#include <chrono>
#include <memory>
#include <utility>

#include <zmq.hpp>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/stream/soak/hostile_connection.hpp"
#include "tests/stream/soak/hostile_kinds.hpp"
#include "tests/stream/soak/hostile_requests.hpp"

namespace starling::stream {
namespace {

using test::Random;
using Clock = std::chrono::steady_clock;

/// A thread has many attacks, so none takes longer in a step.
constexpr std::chrono::microseconds step_max{500};

zmq::socket_t connected(const Attacker& attacker, zmq::socket_type type, bool reads) {
  zmq::socket_t socket(*attacker.context, type);
  socket.set(zmq::sockopt::linger, 0);
  if (!reads) {
    socket.set(zmq::sockopt::rcvhwm, 1);
    socket.set(zmq::sockopt::rcvbuf, 1024);
  }
  if (const RawKeys& keys = attacker.principal.keys; !keys.server_public.empty()) {
    socket.set(zmq::sockopt::curve_serverkey, keys.server_public);
    socket.set(zmq::sockopt::curve_publickey, keys.public_key);
    socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  }
  const bool is_subscriber = type == zmq::socket_type::sub;
  socket.set(zmq::sockopt::sndhwm, is_subscriber ? 0 : 100);
  const std::string& endpoint =
      is_subscriber ? attacker.endpoints.results : attacker.endpoints.commands;
  constexpr std::string_view tcp = "tcp://";
  socket.connect(std::string(tcp) + attacker.principal.address + ":0;" +
                 endpoint.substr(tcp.size()));
  return socket;
}

/// Sends messages until one must wait or a step has lasted long enough, and counts the replies.
class Pipeline {
 public:
  Pipeline(const Attacker& attacker, unsigned unanswered_max, bool reads)
      : attacker_(attacker),
        socket_(connected(attacker, zmq::socket_type::dealer, reads)),
        unanswered_max_(unanswered_max),
        reads_(reads) {}

  bool send(std::string_view bytes, zmq::send_flags flags = zmq::send_flags::none) {
    const bool is_sent =
        socket_.send(zmq::buffer(bytes), flags | zmq::send_flags::dontwait).has_value();
    if (is_sent && flags == zmq::send_flags::none) {
      ++unanswered_;
      ++attacker_.tally->sent;
    }
    return is_sent;
  }

  /// Calls `send_one` while it returns true, and `take` for each reply.
  template <class Send, class Take>
  void step(const Send& send_one, const Take& take) {
    const auto until = Clock::now() + step_max;
    if (reads_) receive(take);
    while ((!reads_ || unanswered_ < unanswered_max_) && send_one() && Clock::now() < until) {
    }
  }

  template <class Take>
  void receive(const Take& take) {
    zmq::message_t message;
    while (socket_.recv(message, zmq::recv_flags::dontwait)) {
      const protocol::AlignedBytes frame(
          std::span(static_cast<const std::byte*>(message.data()), message.size()));
      const auto reply = protocol::decode_reply(frame);
      if (unanswered_ > 0) --unanswered_;
      const bool is_refused = std::holds_alternative<protocol::ErrorReply>(reply.body);
      ++(is_refused ? attacker_.tally->refused : attacker_.tally->answered);
      take(reply);
    }
  }

 private:
  Attacker attacker_;
  zmq::socket_t socket_;
  unsigned unanswered_max_;
  unsigned unanswered_ = 0;
  bool reads_;
};

constexpr auto no_reply_matters = [](const protocol::DecodedReply&) {};

/// Opens or takes over the attacker's session, then sends requests of one kind.
class SessionAttack {
 public:
  SessionAttack(const Attacker& attacker, const HostileRequest& request)
      : attacker_(attacker),
        request_(request),
        pipeline_(attacker, request.unanswered_max, request.reads) {}

  bool step(Random& random) {
    if (is_open_) {
      pipeline_.step([&] { return send(random); }, [&](const auto& reply) { take(reply); });
      return true;
    }
    if (Clock::now() >= hello_at_) {
      hello_at_ = Clock::now() + std::chrono::milliseconds(200);
      pipeline_.send(encoded(
          {}, protocol::Hello{.client = "hostile", .resume_session = attacker_.session->number}));
    }
    pipeline_.receive([&](const auto& reply) { take(reply); });
    return true;
  }

 private:
  bool send(Random& random) {
    HostileSession next = *attacker_.session;
    if (!pipeline_.send(request_.make(attacker_, next, random))) return false;
    *attacker_.session = next;
    return true;
  }

  void take(const protocol::DecodedReply& reply) {
    if (const auto* hello = std::get_if<protocol::HelloReply>(&reply.body)) {
      *attacker_.session = {hello->session, hello->last_sequence};
      is_open_ = true;
    } else if (const auto* error = std::get_if<protocol::ErrorReply>(&reply.body)) {
      if (error->sequence_expected != 0) attacker_.session->sequence = error->sequence_expected - 1;
      // The server does not know the session any more.
      if (error->problem.code == protocol::ErrorCode::unknown_session &&
          error->sequence_expected == 0)
        is_open_ = false;
    }
  }

  Attacker attacker_;
  HostileRequest request_;
  Pipeline pipeline_;
  bool is_open_ = false;
  Clock::time_point hello_at_{};
};

/// Sends what `make` returns, without a session.
template <class Make>
HostileStep pipelined(const Attacker& attacker, unsigned unanswered_max, const Make& make) {
  auto pipeline = std::make_shared<Pipeline>(attacker, unanswered_max, true);
  return [=](Random& random) {
    pipeline->step([&] { return pipeline->send(make(random)); }, no_reply_matters);
    return true;
  };
}

HostileStep hellos(const Attacker& attacker, Random&) {
  return pipelined(
      attacker, 1000,
      [hello = encoded({}, protocol::Hello{.client = "x\n[error]"})](Random&) { return hello; });
}

HostileStep unknown_sessions(const Attacker& attacker, Random&) {
  return pipelined(attacker, 1000, [](Random& random) {
    return encoded({.request_id = 1, .session = random.next()}, protocol::GetStats{});
  });
}

HostileStep damaged_requests(const Attacker& attacker, Random&) {
  return pipelined(attacker, 200, [stream = attacker.stream](Random& random) {
    if (random.chance(0.2)) return random_bytes(random, random.below(2000));
    std::uint64_t sequence = 0;
    std::string bytes = hostile_request(stream, random, random.next(), sequence);
    for (int flips = 0; flips < 3; ++flips)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    return bytes;
  });
}

/// A request has one part. The server would cut a connection after a fourth part, and libzmq ends
/// the process if a connection is cut within a message: see many_parts() in hostile_strangers.cpp.
HostileStep parts(const Attacker& attacker, Random&) {
  auto pipeline = std::make_shared<Pipeline>(attacker, 200, true);
  return [pipeline](Random& random) {
    const auto send = [&] {
      for (std::uint64_t more = 1 + random.below(2); more > 0; --more)
        if (!pipeline->send(random_bytes(random, random.below(100)), zmq::send_flags::sndmore))
          return false;
      return pipeline->send(encoded({}, protocol::GetStats{}));
    };
    pipeline->step(send, no_reply_matters);
    return true;
  };
}

/// Subscribes to topics and, once there are `topics_max`, drops the oldest.
HostileStep subscribe(const Attacker& attacker, std::size_t topics_max, bool reads) {
  auto socket = std::make_shared<zmq::socket_t>(connected(attacker, zmq::socket_type::sub, reads));
  return [=, first = std::uint64_t{0}, next = std::uint64_t{0}](Random&) mutable {
    const auto topic = [&](std::uint64_t number) {
      return number % topics_max == 0 ? attacker.stream + '\0' : "hostile" + std::to_string(number);
    };
    for (int count = 0; count < 20; ++count, ++attacker.tally->sent) {
      if (next - first == topics_max) socket->set(zmq::sockopt::unsubscribe, topic(first++));
      if (topics_max == 1 && next > 0 && !reads) break;
      socket->set(zmq::sockopt::subscribe, topic(next++));
    }
    zmq::message_t message;
    while (reads && socket->recv(message, zmq::recv_flags::dontwait)) ++attacker.tally->answered;
    return true;
  };
}

HostileStep subscription_churn(const Attacker& attacker, Random&) {
  return subscribe(attacker, 1, true);
}

HostileStep thousands_of_topics(const Attacker& attacker, Random&) {
  return subscribe(attacker, 4000, true);
}

HostileStep never_reads_ticks(const Attacker& attacker, Random&) {
  return subscribe(attacker, 1, false);
}

}  // namespace

std::vector<HostileKind> kinds_of_sessions() {
  std::vector<HostileKind> kinds;
  for (const HostileRequest& request : hostile_requests())
    kinds.push_back({request.name, [request](const Attacker& attacker, Random&) -> HostileStep {
                       auto attack = std::make_shared<SessionAttack>(attacker, request);
                       return [attack](Random& random) { return attack->step(random); };
                     }});
  return kinds;
}

std::vector<HostileKind> kinds_of_peers() {
  return {{"Hello", hellos},
          {"unknown sessions", unknown_sessions},
          {"damaged requests", damaged_requests},
          {"messages of three parts", parts},
          {"subscription churn", subscription_churn, false},
          {"thousands of topics", thousands_of_topics, false},
          {"ticks, never read", never_reads_ticks, false}};
}

}  // namespace starling::stream
