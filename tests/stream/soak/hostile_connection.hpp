// SPDX-License-Identifier: Apache-2.0
// Connections of hostile clients. They write their bytes without a library, which could refuse to
// send them.
#pragma once

#include <string>
#include <string_view>

#include "tests/stream/soak/hostile_kinds.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// A TCP connection whose calls never wait. It ends with a FIN or, after reset(), with a RST.
/// Counts what it sends and what comes back.
class HostileConnection {
 public:
  /// `receive_bytes` is the size of the kernel's receive buffer; 0 keeps the default.
  HostileConnection(const Attacker& attacker, const std::string& endpoint, int receive_bytes = 0);
  ~HostileConnection();
  HostileConnection(const HostileConnection&) = delete;
  HostileConnection& operator=(const HostileConnection&) = delete;

  /// Queues the bytes and sends what the system takes. Returns false if the server has closed.
  bool send(std::string_view bytes);
  bool is_sent() const { return waiting_.empty(); }
  std::string receive();
  void half_close();
  void reset();

 private:
  int fd_ = -1;
  HostileTally& tally_;
  std::string waiting_;
  bool is_connected_ = false;
};

/// Sends `text` in pieces of random size, one piece a step. Then keeps the connection for `stays`
/// steps, with or without reading, and ends it in one of three ways.
HostileStep in_pieces(const Attacker& attacker, const std::string& endpoint, std::string text,
                      std::size_t piece_max, int stays);

/// Returns the endpoint of commands, of results or of HTTP.
const std::string& random_endpoint(const Attacker& attacker, test::Random& random);

std::string random_bytes(test::Random& random, std::size_t count);
std::string big_endian(std::uint64_t number, int bytes);

}  // namespace starling::stream
