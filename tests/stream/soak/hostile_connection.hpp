// SPDX-License-Identifier: Apache-2.0
// Connections of hostile clients. They write their bytes without a library, which could refuse to
// send them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tests/support/random.hpp"

namespace starling::stream {

/// Takes one step of an attack. Returns false when the attack has ended.
using HostileStep = std::function<bool(test::Random&)>;

/// A TCP connection to 127.0.0.1 whose calls never wait. It ends with a FIN or, after reset(), with
/// a RST.
class HostileConnection {
 public:
  /// `receive_bytes` is the size of the kernel's receive buffer; 0 keeps the default.
  explicit HostileConnection(const std::string& endpoint, int receive_bytes = 0);
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
  std::string waiting_;
};

/// Sends `text` in pieces of random size, one piece a step. Then keeps the connection for `stays`
/// steps, with or without reading, and ends it in one of three ways.
HostileStep in_pieces(const std::string& endpoint, std::string text, std::size_t piece_max,
                      int stays);

}  // namespace starling::stream
