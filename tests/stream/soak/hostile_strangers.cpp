// SPDX-License-Identifier: Apache-2.0
// Handshakes, frames and connections of peers that do not keep to ZMTP: see hostile_kinds.hpp.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/stream/soak/hostile_connection.hpp"
#include "tests/stream/soak/hostile_kinds.hpp"
#include "tests/stream/soak/hostile_requests.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

using test::Random;

std::string zmtp_frame(std::string_view body, int flags = 0) {
  if (body.size() < 256)
    return std::string(1, static_cast<char>(flags)) + static_cast<char>(body.size()) +
           std::string(body);
  return std::string(1, static_cast<char>(flags | 2)) + big_endian(body.size(), 8) +
         std::string(body);
}

std::string zmtp_property(std::string_view name, std::string_view value) {
  return static_cast<char>(name.size()) + std::string(name) + big_endian(value.size(), 4) +
         std::string(value);
}

std::string zmtp_handshake(std::string_view socket_type, std::string_view identity = {}) {
  std::string greeting(64, '\0');
  greeting[0] = '\xff';
  greeting[8] = 1;
  greeting[9] = '\x7f';
  greeting[10] = 3;
  greeting.replace(12, 4, "NULL");
  std::string ready = "\5READY" + zmtp_property("Socket-Type", socket_type);
  if (socket_type == "DEALER") ready += zmtp_property("Identity", identity);
  return greeting + zmtp_frame(ready, 4);
}

HostileStep garbage(const Attacker& attacker, Random& random) {
  return in_pieces(attacker, random_endpoint(attacker, random),
                   random_bytes(random, 1 + random.below(8192)), 1 + random.below(4096),
                   static_cast<int>(random.below(50)));
}

HostileStep half_open(const Attacker& attacker, Random& random) {
  return in_pieces(attacker, random_endpoint(attacker, random), "", 1, 100'000);
}

HostileStep torn_handshake(const Attacker& attacker, Random& random) {
  std::string text = zmtp_handshake(random.chance(0.5) ? "DEALER" : "SUB");
  text.resize(random.below(text.size() + 1));
  return in_pieces(attacker,
                   random.chance(0.5) ? attacker.endpoints.commands : attacker.endpoints.results,
                   text, 64, static_cast<int>(random.below(50)));
}

HostileStep broken_handshake(const Attacker& attacker, Random& random) {
  std::string text = zmtp_handshake("DEALER", random_bytes(random, random.below(255)));
  for (int flips = 0; flips < 4; ++flips)
    text[random.below(text.size())] = static_cast<char>(random.below(256));
  return in_pieces(attacker, attacker.endpoints.commands, text + random_bytes(random, 300), 512, 5);
}

HostileStep huge_frame(const Attacker& attacker, Random& random) {
  const std::uint64_t size =
      random.chance(0.5) ? random.next() : 16'777'217 + random.below(1 << 30);
  return in_pieces(
      attacker, random.chance(0.7) ? attacker.endpoints.commands : attacker.endpoints.results,
      zmtp_handshake("DEALER") + '\2' + big_endian(size, 8) + random_bytes(random, 4096), 4096, 50);
}

HostileStep topics(const Attacker& attacker, Random& random) {
  std::string text = zmtp_handshake("SUB");
  for (std::uint64_t count = random.below(200); count > 0; --count)
    text += zmtp_frame(static_cast<char>(random.chance(0.9)) +
                       random_bytes(random, random.below(random.chance(0.05) ? 5000 : 300)));
  return in_pieces(attacker, attacker.endpoints.results, std::move(text), 4096, 20);
}

HostileStep raw_ticks(const Attacker& attacker, Random&) {
  auto socket = std::make_shared<HostileConnection>(attacker, attacker.endpoints.results, 1024);
  return [socket, text = zmtp_handshake("SUB") +
                         zmtp_frame("\1" + attacker.stream + '\0')](Random&) mutable {
    const bool is_open = socket->send(text);
    text.clear();
    return is_open;
  };
}

HostileStep many_parts(const Attacker& attacker, Random& random) {
  std::string text = zmtp_handshake("DEALER");
  for (int count = 0; count < 20; ++count) text += zmtp_frame(random_bytes(random, 50), 1);
  return in_pieces(attacker, attacker.endpoints.commands, std::move(text), 8192, 10);
}

HostileStep connect_flood(const Attacker& attacker, Random& random) {
  return [attacker, left = 20 + random.below(50)](Random& again) mutable {
    HostileConnection socket(attacker, random_endpoint(attacker, again));
    socket.send("");
    if (again.chance(0.8)) socket.reset();
    return left-- > 0;
  };
}

HostileStep no_session(const Attacker& attacker, Random& random) {
  std::string text = zmtp_handshake("DEALER");
  std::uint64_t sequence = random.next();
  for (int count = 0; count < 20; ++count)
    text += zmtp_frame(hostile_request(attacker.stream, random, random.next(), sequence));
  return in_pieces(attacker, attacker.endpoints.commands, std::move(text), 8192, 10);
}

HostileStep routing_ids(const Attacker& attacker, Random& random) {
  // libzmq's own ids are NUL and a counter, which begins at rand() of an unseeded process.
  const std::string id = '\0' + big_endian(1'804'289'383 + random.below(2000), 4);
  return in_pieces(attacker, attacker.endpoints.commands, zmtp_handshake("DEALER", id), 256, 100);
}

HostileStep endless_message(const Attacker& attacker, Random& random) {
  auto socket = std::make_shared<HostileConnection>(attacker, attacker.endpoints.commands);
  socket->send(zmtp_handshake("DEALER"));
  return [socket, part = zmtp_frame(random_bytes(random, 65'536), 1)](Random&) mutable {
    return socket->send(socket->is_sent() ? part : "");
  };
}

}  // namespace

std::vector<HostileKind> kinds_of_strangers() {
  return {{"random bytes", garbage, false},
          {"half open", half_open, false},
          {"connect flood", connect_flood, false},
          {"torn handshake", torn_handshake, false},
          {"broken handshake", broken_handshake, false},
          {"huge frame", huge_frame, false},
          {"endless message", endless_message, false},
          {"messages of many parts", many_parts, false},
          {"routing ids", routing_ids, false},
          {"topics without a key", topics, false},
          {"ticks without a key", raw_ticks, false},
          {"requests without a key", no_session, false}};
}

}  // namespace starling::stream
