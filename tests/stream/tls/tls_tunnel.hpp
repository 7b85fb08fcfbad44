// SPDX-License-Identifier: Apache-2.0
// Lets the clients of HTTP, events and WebSockets, which know no TLS, talk to a server that speaks
// only TLS: whatever comes to the tunnel's endpoint goes on through Asio's stream of TLS.
#pragma once

#include <memory>
#include <string>

namespace starling::stream {

class TlsTunnel {
 public:
  /// `server`: where the server listens for TLS.
  explicit TlsTunnel(const std::string& server);
  ~TlsTunnel();

  /// Where plain bytes are taken.
  std::string endpoint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
