// SPDX-License-Identifier: Apache-2.0
// Sessions over CURVE, and requests over HTTP with a token: see hostile_principal.hpp.
#include "tests/stream/soak/hostile_principal.hpp"

#include <memory>
#include <utility>

#include <zmq.hpp>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/stream/soak/hostile_requests.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using test::Random;

/// A DEALER socket whose calls never wait.
class Dealer {
 public:
  /// `replies_max` is how many replies may wait to be read; 0: any number.
  Dealer(const HostileOptions& options, int replies_max)
      : socket_(*options.principal->context, zmq::socket_type::dealer) {
    const RawKeys& keys = options.principal->keys;
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::sndhwm, 4);
    socket_.set(zmq::sockopt::rcvhwm, replies_max);
    socket_.set(zmq::sockopt::curve_serverkey, keys.server_public);
    socket_.set(zmq::sockopt::curve_publickey, keys.public_key);
    socket_.set(zmq::sockopt::curve_secretkey, keys.secret_key);
    socket_.connect(options.endpoints.commands);
  }

  void send(const std::string& bytes) {
    socket_.send(zmq::buffer(bytes), zmq::send_flags::dontwait);
  }
  /// Reads a reply, if there is one. Returns the number of the session that it opens, or 0.
  std::uint64_t receive() {
    zmq::message_t message;
    if (!socket_.recv(message, zmq::recv_flags::dontwait)) return 0;
    const protocol::AlignedBytes frame(
        std::span(static_cast<const std::byte*>(message.data()), message.size()));
    const auto reply = protocol::decode_reply(frame);
    const auto* hello = std::get_if<protocol::HelloReply>(&reply.body);
    return hello == nullptr ? 0 : hello->session;
  }

 private:
  zmq::socket_t socket_;
};

HostileStep with_session(const HostileOptions& options, bool reads) {
  auto socket = std::make_shared<Dealer>(options, reads ? 0 : 1);
  socket->send(encoded({}, protocol::Hello{.client = "x"}));
  return [&options, socket, reads, session = std::uint64_t{0}, sequence = std::uint64_t{0},
          left = 300](Random& random) mutable {
    if (left-- == 0) return false;
    if (session == 0)
      session = socket->receive();
    else if (reads)
      socket->receive();
    if (session != 0) socket->send(hostile_request(options.stream, random, session, sequence));
    return true;
  };
}

HostileStep session(const HostileOptions& options, Random&) {
  return with_session(options, true);
}

HostileStep session_never_reads(const HostileOptions& options, Random&) {
  return with_session(options, false);
}

std::string rows_of(Random& random) {
  std::string text = "[";
  for (std::uint64_t row = 1 + random.below(500); row > 0; --row)
    text += R"({"id": ")" + std::to_string(1'000'000 + random.below(100'000)) + R"(", "x": )" +
            std::to_string(-1e6 * random.unit()) + R"(, "y": 0},)";
  text.back() = ']';
  return text;
}

std::string request_with_token(const HostileOptions& options, Random& random) {
  const std::string head =
      " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + options.principal->token + "\r\n";
  const auto with_body = [&](const std::string& target, const std::string& body) {
    return target + head +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
  const std::string stream = "hostile" + std::to_string(random.below(200));
  switch (random.below(7)) {
    case 0:
      return with_body("POST /v1/objects", rows_of(random));
    case 1:
      return with_body("PUT /v1/streams/" + stream, R"({"on": "order"})");
    case 2:
      return with_body(
          "PUT /v1/streams/" + stream + "/queries/" + std::to_string(random.below(100'000)),
          R"({"x": 0, "y": 0, "k": 1024})");
    case 3:
      return "GET /v1/streams/" + options.stream + "/events" + head + "\r\n";
    case 4:
      return "GET /v1/stats" + head + "\r\n";
    case 5:
      return "DELETE /v1/objects/" + std::to_string(0x57'0000'0000 + random.below(50)) + head +
             "\r\n";
    default: {
      std::string text;
      for (int count = 0; count < 20; ++count)
        text += "GET /v1/neighbors?k=1024&x=0&y=0" + head + "\r\n";
      return text;
    }
  }
}

HostileStep http_with_token(const HostileOptions& options, Random& random) {
  return in_pieces(options.endpoints.http, request_with_token(options, random), 65'536,
                   static_cast<int>(random.below(200)));
}

HostileStep wrong_token(const HostileOptions& options, Random& random) {
  return in_pieces(options.endpoints.http,
                   "GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                       std::to_string(random.next()) + "\r\n\r\n",
                   4096, 5);
}

}  // namespace

std::vector<HostileKind> kinds_of_principals() {
  return {{"session", session},
          {"session, never reads", session_never_reads},
          {"HTTP with a token", http_with_token},
          {"HTTP, wrong token", wrong_token}};
}

}  // namespace starling::stream
