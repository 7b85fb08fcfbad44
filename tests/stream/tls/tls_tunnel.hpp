// SPDX-License-Identifier: Apache-2.0
// Lets clients without TLS (HTTP, events and WebSockets) talk to a server that has only TLS. Passes
// their bytes on through Asio's stream of TLS.
#pragma once

#include <memory>
#include <string>

namespace starling::stream {

class TlsTunnel {
 public:
  /// `server` is the server's endpoint for TLS.
  explicit TlsTunnel(const std::string& server);
  ~TlsTunnel();

  /// Returns the endpoint for plain bytes.
  std::string endpoint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::stream
