// SPDX-License-Identifier: Apache-2.0
// The attacks of clients without a session: see hostile_mix.hpp.
#include "tests/stream/soak/hostile_mix.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/stream/soak/duty_cycle.hpp"
#include "tests/stream/soak/hostile_principal.hpp"
#include "tests/stream/soak/hostile_requests.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

namespace {

using test::Random;

std::string random_bytes(Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

std::string big_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int at = bytes - 1; at >= 0; --at) text += static_cast<char>(number >> (8 * at) & 0xff);
  return text;
}

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

const std::string& random_endpoint(const HostileOptions& options, Random& random) {
  const Endpoints& all = options.endpoints;
  switch (random.below(3)) {
    case 0:
      return all.commands;
    case 1:
      return all.results;
    default:
      return all.http;
  }
}

HostileStep garbage(const HostileOptions& options, Random& random) {
  return in_pieces(random_endpoint(options, random), random_bytes(random, 1 + random.below(8192)),
                   1 + random.below(4096), static_cast<int>(random.below(50)));
}

HostileStep half_open(const HostileOptions& options, Random& random) {
  return in_pieces(random_endpoint(options, random), "", 1, 500);
}

HostileStep slow_http(const HostileOptions& options, Random&) {
  return in_pieces(options.endpoints.http,
                   "GET /v1/streams HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(200, 'x'), 1,
                   1);
}

HostileStep torn_handshake(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake(random.chance(0.5) ? "DEALER" : "SUB");
  text.resize(random.below(text.size() + 1));
  return in_pieces(random.chance(0.5) ? options.endpoints.commands : options.endpoints.results,
                   text, 64, static_cast<int>(random.below(50)));
}

HostileStep broken_handshake(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake("DEALER", random_bytes(random, random.below(255)));
  for (int flips = 0; flips < 4; ++flips)
    text[random.below(text.size())] = static_cast<char>(random.below(256));
  return in_pieces(options.endpoints.commands, text + random_bytes(random, 300), 512, 5);
}

HostileStep huge_frame(const HostileOptions& options, Random& random) {
  const std::uint64_t size =
      random.chance(0.5) ? random.next() : 16'777'217 + random.below(1 << 30);
  return in_pieces(
      random.chance(0.7) ? options.endpoints.commands : options.endpoints.results,
      zmtp_handshake("DEALER") + '\2' + big_endian(size, 8) + random_bytes(random, 4096), 4096, 5);
}

HostileStep topics(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake("SUB");
  for (std::uint64_t count = random.below(200); count > 0; --count)
    text += zmtp_frame(static_cast<char>(random.chance(0.9)) +
                       random_bytes(random, random.below(random.chance(0.05) ? 5000 : 300)));
  return in_pieces(options.endpoints.results, std::move(text), 4096, 20);
}

HostileStep never_reads_ticks(const HostileOptions& options, Random&) {
  auto socket = std::make_shared<HostileConnection>(options.endpoints.results, 1024);
  return [socket, text = zmtp_handshake("SUB") + zmtp_frame("\1" + options.stream + '\0'),
          left = 1000](Random&) mutable {
    const bool is_open = socket->send(text);
    text.clear();
    return is_open && left-- > 0;
  };
}

std::string http_request(const HostileOptions& options, Random& random) {
  const std::string host = "Host: localhost\r\n";
  switch (random.below(10)) {
    case 0:  // two lengths
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics "
             "HTTP/1.1\r\n" +
             host + "\r\n";
    case 1:
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello";
    case 2:
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n";
    case 3:  // deep JSON
      return "POST /v1/objects HTTP/1.1\r\n" + host +
             "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n" +
             std::string(100'000, '[');
    case 4:  // a long head
      return "GET / HTTP/1.1\r\n" + host + "X: " + std::string(20'000, 'y') + "\r\n\r\n";
    case 5: {  // many requests at once
      std::string text;
      for (int count = 0; count < 50; ++count) text += "GET /metrics HTTP/1.1\r\n" + host + "\r\n";
      return text;
    }
    case 6:
      return "GET /v1/streams/" + options.stream + "/events HTTP/1.1\r\n" + host + "\r\n";
    case 7:
      return "GET /v1/neighbors?k=99999999999&x=1e400&y=nan HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    case 8:
      return "GET /../../etc/passwd HTTP/1.1\r\n" + host + "Range: bytes=0-0," +
             std::string(4000, ',') + "\r\n\r\n";
    default:
      return random_bytes(random, 20) + " / HTTP/9.9\r\n\r\n";
  }
}

HostileStep http_tricks(const HostileOptions& options, Random& random) {
  return in_pieces(options.endpoints.http, http_request(options, random), 8192,
                   static_cast<int>(random.below(200)));
}

HostileStep web_socket(const HostileOptions& options, Random& random) {
  std::string text =
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  if (random.chance(0.3)) text += "\x82\xff" + big_endian(random.next() >> 1, 8);
  text += random_bytes(random, random.below(4000));
  return in_pieces(options.endpoints.http, std::move(text), 2048,
                   static_cast<int>(random.below(100)));
}

HostileStep connect_flood(const HostileOptions& options, Random& random) {
  return [&options, left = 20 + random.below(50)](Random& again) mutable {
    HostileConnection socket(random_endpoint(options, again));
    if (again.chance(0.8)) socket.reset();
    return left-- > 0;
  };
}

HostileStep no_session(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake("DEALER");
  std::uint64_t sequence = random.next();
  for (int count = 0; count < 20; ++count)
    text += zmtp_frame(hostile_request(options.stream, random, random.next(), sequence));
  return in_pieces(options.endpoints.commands, std::move(text), 8192, 10);
}

HostileStep routing_ids(const HostileOptions& options, Random& random) {
  // libzmq's own ids are NUL and a counter, which begins at rand() of an unseeded process.
  const std::string id = '\0' + big_endian(1'804'289'383 + random.below(2000), 4);
  return in_pieces(options.endpoints.commands, zmtp_handshake("DEALER", id), 256, 100);
}

HostileStep endless_message(const HostileOptions& options, Random& random) {
  auto socket = std::make_shared<HostileConnection>(options.endpoints.commands);
  socket->send(zmtp_handshake("DEALER"));
  return
      [socket, part = zmtp_frame(random_bytes(random, 65'536), 1), left = 1000](Random&) mutable {
        if (socket->is_sent()) return socket->send(part) && left-- > 0;
        return socket->send("") && left-- > 0;
      };
}

std::vector<HostileKind> kinds_of(const HostileOptions& options) {
  std::vector<HostileKind> kinds{{"garbage", garbage},
                                 {"half open", half_open},
                                 {"slow HTTP", slow_http},
                                 {"torn handshake", torn_handshake},
                                 {"broken handshake", broken_handshake},
                                 {"huge frame", huge_frame},
                                 {"topics", topics},
                                 {"never reads ticks", never_reads_ticks},
                                 {"HTTP tricks", http_tricks},
                                 {"WebSocket", web_socket},
                                 {"connect flood", connect_flood},
                                 {"no session", no_session},
                                 {"routing ids", routing_ids},
                                 {"endless message", endless_message}};
  if (options.principal)
    for (const HostileKind& kind : kinds_of_principals()) kinds.push_back(kind);
  return kinds;
}

}  // namespace

HostileMix::HostileMix(const HostileOptions& options)
    : thread_([this, options] { run(options); }) {}

HostileMix::~HostileMix() {
  stop();
}

void HostileMix::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void HostileMix::run(const HostileOptions& options) {
  DutyCycle duty(options.cores);
  if (options.principal) duty.count_threads(options.principal->threads);
  Random random(options.seed);
  const std::vector<HostileKind> kinds = kinds_of(options);
  struct Client {
    const HostileKind* kind = nullptr;
    HostileStep step;
  };
  std::vector<Client> clients(options.clients);
  while (!stopping_) {
    for (Client& client : clients) {
      if (!client.step) {
        client.kind = &random.pick(std::span<const HostileKind>(kinds));
        client.step = client.kind->make(options, random);
      }
      if (!client.step(random)) {
        client.step = {};
        ++counts_[client.kind->name];
      }
      duty.rest();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

IdleLoop::IdleLoop(double cores)
    : thread_([this, cores] {
        const DutyCycle duty(cores);
        for (volatile unsigned work = 0; !stopping_;) {
          for (int i = 0; i < 100'000; ++i) work = work + 1;
          duty.rest();
        }
      }) {}

IdleLoop::~IdleLoop() {
  stopping_ = true;
  thread_.join();
}

}  // namespace starling::stream
