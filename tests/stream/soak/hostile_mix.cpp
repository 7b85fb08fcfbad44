// SPDX-License-Identifier: Apache-2.0
// The attacks, and the limit on their processor time: see hostile_mix.hpp.
#include "tests/stream/soak/hostile_mix.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

namespace {

using test::Random;
using Clock = std::chrono::steady_clock;

/// Sleeps whenever this thread has had more than its share of a core.
class DutyCycle {
 public:
  explicit DutyCycle(double cores) : cores_(cores) {}

  void rest() const {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const double used_s =
        static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
    const double passed_s = std::chrono::duration<double>(Clock::now() - since_).count();
    const double early_s = used_s / cores_ - passed_s;
    if (early_s > 0.002) std::this_thread::sleep_for(std::chrono::duration<double>(early_s));
  }

 private:
  double cores_;
  Clock::time_point since_ = Clock::now();
};

std::uint16_t port_of(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

/// A connection whose calls never wait. It ends with a FIN or, after reset(), with a RST.
class Socket {
 public:
  explicit Socket(const std::string& endpoint, int receive_bytes = 0) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (receive_bytes > 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_of(endpoint));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Queues the bytes and sends what the system takes. Returns false if the server has closed.
  bool send(std::string_view bytes) {
    waiting_.append(bytes);
    const ssize_t count = ::send(fd_, waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
    if (count > 0) waiting_.erase(0, static_cast<std::size_t>(count));
    return count >= 0 || errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS;
  }
  bool is_sent() const { return waiting_.empty(); }
  std::string receive() {
    std::string bytes(16'384, '\0');
    const ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  void half_close() { shutdown(fd_, SHUT_WR); }
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }

 private:
  int fd_ = -1;
  std::string waiting_;
};

std::string random_bytes(Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

// ZMTP 3.0

constexpr std::size_t zmtp_greeting_bytes = 64;

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

/// Reads the session's number out of what a server sends to a DEALER.
class SessionReader {
 public:
  bool has_read() const { return !bytes_.empty(); }
  std::uint64_t read(Socket& socket) {
    bytes_ += socket.receive();
    if (bytes_.size() < 64) return 0;
    std::size_t at = 64;
    while (at + 2 <= bytes_.size()) {
      const int flags = bytes_[at];
      std::size_t head = 2;
      std::uint64_t size = static_cast<unsigned char>(bytes_[at + 1]);
      if ((flags & 2) != 0) {
        head = 9;
        if (at + head > bytes_.size()) return 0;
        size = 0;
        for (std::size_t i = 1; i < 9; ++i)
          size = size << 8 | static_cast<unsigned char>(bytes_[at + i]);
      }
      if (at + head + size > bytes_.size()) return 0;
      if ((flags & 4) == 0 && size > 0) {
        const protocol::AlignedBytes frame(
            std::as_bytes(std::span(bytes_.data() + at + head, static_cast<std::size_t>(size))));
        const auto reply = protocol::decode_reply(frame);
        const auto* hello = std::get_if<protocol::HelloReply>(&reply.body);
        return hello == nullptr ? 0 : hello->session;
      }
      at += head + size;
    }
    return 0;
  }

 private:
  std::string bytes_;
};

/// Takes one step of an attack. Returns false when the attack has ended.
using Step = std::function<bool(Random&)>;

struct Kind {
  const char* name;
  Step (*make)(const HostileOptions&, Random&);
};

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

/// Sends `text` in pieces of random size, one a step. At the end it keeps the connection for a
/// while, reads or does not, and ends it in one of three ways.
Step in_pieces(const std::string& endpoint, std::string text, std::size_t piece_max, int stays) {
  auto socket = std::make_shared<Socket>(endpoint);
  return [=, at = std::size_t{0}, left = stays](Random& random) mutable {
    if (at < text.size()) {
      const std::size_t count =
          std::min<std::size_t>(1 + random.below(piece_max), text.size() - at);
      const bool is_open = socket->send(std::string_view(text).substr(at, count));
      at += count;
      return is_open;
    }
    if (left == stays && random.chance(0.3)) socket->half_close();
    if (random.chance(0.5)) socket->receive();
    if (left-- > 0) return socket->send("");
    if (random.chance(0.5)) socket->reset();
    return false;
  };
}

Step garbage(const HostileOptions& options, Random& random) {
  return in_pieces(random_endpoint(options, random), random_bytes(random, 1 + random.below(8192)),
                   1 + random.below(4096), static_cast<int>(random.below(50)));
}

Step half_open(const HostileOptions& options, Random& random) {
  return in_pieces(random_endpoint(options, random), "", 1, 500);
}

Step slow_http(const HostileOptions& options, Random&) {
  return in_pieces(options.endpoints.http,
                   "GET /v1/streams HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(200, 'x'), 1,
                   1);
}

Step torn_handshake(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake(random.chance(0.5) ? "DEALER" : "SUB");
  text.resize(random.below(text.size() + 1));
  return in_pieces(random.chance(0.5) ? options.endpoints.commands : options.endpoints.results,
                   text, 64, static_cast<int>(random.below(50)));
}

Step broken_handshake(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake("DEALER", random_bytes(random, random.below(255)));
  for (int flips = 0; flips < 4; ++flips)
    text[random.below(text.size())] = static_cast<char>(random.below(256));
  return in_pieces(options.endpoints.commands, text + random_bytes(random, 300), 512, 5);
}

Step huge_frame(const HostileOptions& options, Random& random) {
  const std::uint64_t size =
      random.chance(0.5) ? random.next() : 16'777'217 + random.below(1 << 30);
  return in_pieces(
      random.chance(0.7) ? options.endpoints.commands : options.endpoints.results,
      zmtp_handshake("DEALER") + '\2' + big_endian(size, 8) + random_bytes(random, 4096), 4096, 5);
}

Step topics(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake("SUB");
  for (std::uint64_t count = random.below(200); count > 0; --count)
    text += zmtp_frame(static_cast<char>(random.chance(0.9)) +
                       random_bytes(random, random.below(random.chance(0.05) ? 5000 : 300)));
  return in_pieces(options.endpoints.results, std::move(text), 4096, 20);
}

Step never_reads_ticks(const HostileOptions& options, Random&) {
  auto socket = std::make_shared<Socket>(options.endpoints.results, 1024);
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

Step http_tricks(const HostileOptions& options, Random& random) {
  return in_pieces(options.endpoints.http, http_request(options, random), 8192,
                   static_cast<int>(random.below(200)));
}

Step web_socket(const HostileOptions& options, Random& random) {
  std::string text =
      "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  if (random.chance(0.3)) text += "\x82\xff" + big_endian(random.next() >> 1, 8);
  text += random_bytes(random, random.below(4000));
  return in_pieces(options.endpoints.http, std::move(text), 2048,
                   static_cast<int>(random.below(100)));
}

Step connect_flood(const HostileOptions& options, Random& random) {
  return [&options, left = 20 + random.below(50)](Random& again) mutable {
    Socket socket(random_endpoint(options, again));
    if (again.chance(0.8)) socket.reset();
    return left-- > 0;
  };
}

/// What a client with a session sends, as bytes of requests that are well formed but hostile.
std::string hostile_request(const HostileOptions& options, Random& random, std::uint64_t session,
                            std::uint64_t& sequence) {
  const protocol::RequestHead plain{.request_id = random.next(), .session = session};
  const auto numbered = [&] {
    protocol::RequestHead head = plain;
    head.sequence = ++sequence;
    return head;
  };
  const std::string own = "hostile" + std::to_string(random.below(200));
  const std::size_t rows = 1 + random.below(2000);
  switch (random.below(12)) {
    case 0: {  // ids that were chosen to collide
      Fixes fixes;
      for (std::size_t row = 0; row < rows; ++row)
        fixes.add(1'000'000 + 351'061 * random.below(20'000), 1, 0, 0);
      return encoded(numbered(), fixes.batch());
    }
    case 1: {
      Fixes fixes;
      for (std::size_t row = 0; row < rows; ++row) {
        const bool is_bad = random.chance(0.5);
        fixes.add(1'000'000 + random.below(100'000),
                  is_bad ? std::numeric_limits<std::int64_t>::max() : wall_now_us(),
                  is_bad ? std::numeric_limits<double>::quiet_NaN() : -1e6 * random.unit(), 1e300);
      }
      return encoded(numbered(), fixes.batch());
    }
    case 2:
      return encoded(numbered(),
                     protocol::PutStream{.name = own, .on = ReportOn::order, .with = {}});
    case 3:
      return encoded(numbered(), protocol::RemoveStream{.name = own});
    case 4: {
      protocol::PutQueries put{.stream = own, .queries = {}};
      for (std::size_t count = 0; count < rows; ++count)
        put.queries.push_back(nearest_to(351'061 * random.below(1000),
                                         static_cast<std::uint32_t>(random.below(2000)),
                                         -1e6 * random.unit(), 0));
      return encoded(numbered(), put);
    }
    case 5:
      return encoded(plain, protocol::GetSnapshot{.stream = options.stream});
    case 6: {
      protocol::GetNeighbors ask;
      for (int count = 0; count < 20; ++count)
        ask.questions.push_back(nearest_to(0, 1024, -1e6 * random.unit(), 0));
      return encoded(plain, ask);
    }
    case 7:
      return encoded(numbered(), protocol::AdvanceTick{random.between(-1'000'000, 1'000'000)});
    case 8:
      return encoded(plain, protocol::GetStats{});
    case 9:
      return encoded({.request_id = 1, .session = random.next(), .sequence = random.next()},
                     protocol::GetStats{});
    case 10:
      return encoded({}, protocol::Hello{.client = "x\n[error] forged"});
    default: {
      Fixes fixes;
      fixes.add(1, 1, 0, 0);
      std::string bad = encoded(plain, fixes.batch());
      for (int flips = 0; flips < 3; ++flips)
        bad[random.below(bad.size())] = static_cast<char>(random.below(256));
      return bad;
    }
  }
}

/// A client with a session of its own. `reads`: otherwise no reply is ever read.
Step with_session(const HostileOptions& options, bool reads) {
  auto socket = std::make_shared<Socket>(options.endpoints.commands, reads ? 0 : 2048);
  auto reader = std::make_shared<SessionReader>();
  // libzmq closes a connection whose greeting comes together with what follows it.
  const std::string hello =
      zmtp_handshake("DEALER") + zmtp_frame(encoded({}, protocol::Hello{.client = "x"}));
  socket->send(std::string_view(hello).substr(0, zmtp_greeting_bytes));
  return [&options, socket, reader, reads, rest = hello.substr(zmtp_greeting_bytes),
          session = std::uint64_t{0}, sequence = std::uint64_t{0},
          left = 300](Random& random) mutable {
    if (left-- == 0 || !socket->send("")) return false;
    if (reader->has_read()) socket->send(std::exchange(rest, {}));
    if (session == 0) {
      session = reader->read(*socket);
      return true;
    }
    if (reads) socket->receive();
    if (!socket->is_sent()) return true;
    return socket->send(zmtp_frame(hostile_request(options, random, session, sequence)));
  };
}

Step session(const HostileOptions& options, Random&) {
  return with_session(options, true);
}
Step session_never_reads(const HostileOptions& options, Random&) {
  return with_session(options, false);
}

Step no_session(const HostileOptions& options, Random& random) {
  std::string text = zmtp_handshake("DEALER");
  std::uint64_t sequence = random.next();
  for (int count = 0; count < 20; ++count)
    text += zmtp_frame(hostile_request(options, random, random.next(), sequence));
  return in_pieces(options.endpoints.commands, std::move(text), 8192, 10);
}

Step routing_ids(const HostileOptions& options, Random& random) {
  // libzmq's own ids are NUL and a counter, which begins at rand() of an unseeded process.
  const std::string id = '\0' + big_endian(1'804'289'383 + random.below(2000), 4);
  return in_pieces(options.endpoints.commands, zmtp_handshake("DEALER", id), 256, 100);
}

Step endless_message(const HostileOptions& options, Random& random) {
  auto socket = std::make_shared<Socket>(options.endpoints.commands);
  socket->send(zmtp_handshake("DEALER"));
  return
      [socket, part = zmtp_frame(random_bytes(random, 65'536), 1), left = 1000](Random&) mutable {
        if (socket->is_sent()) return socket->send(part) && left-- > 0;
        return socket->send("") && left-- > 0;
      };
}

std::vector<Kind> kinds_of(const HostileOptions& options) {
  std::vector<Kind> kinds{{"garbage", garbage},
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
  if (options.attack_with_sessions) {
    kinds.push_back({"session", session});
    kinds.push_back({"session, never reads", session_never_reads});
  }
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
  const DutyCycle duty(options.cores);
  Random random(options.seed);
  const std::vector<Kind> kinds = kinds_of(options);
  struct Client {
    const Kind* kind = nullptr;
    Step step;
  };
  std::vector<Client> clients(options.clients);
  while (!stopping_) {
    for (Client& client : clients) {
      if (!client.step) {
        client.kind = &random.pick(std::span<const Kind>(kinds));
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
