// SPDX-License-Identifier: Apache-2.0
// Decides which hosts a request may name, and from which pages a change may come. Without these
// checks, any page in a browser could send requests to a server on the same machine: directly, or
// under a name that an attacker points to this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/stream/sockets/http_server.hpp"

namespace starling::stream {

struct GatekeeperOptions {
  std::vector<std::string> hosts{};    ///< further names of this server, without a port
  std::vector<std::string> origins{};  ///< further origins, such as "https://map.example.org"
};

class Gatekeeper {
 public:
  explicit Gatekeeper(GatekeeperOptions options) : options_(std::move(options)) {}

  /// Returns the refusal of a request whose Host is not a name of this server.
  std::optional<HttpAnswer> check_host(const HttpHead& head) const;
  /// Returns the refusal of a change, or of a request to follow a stream, that a page of another
  /// origin has sent.
  std::optional<HttpAnswer> check_origin(const HttpHead& head) const;

 private:
  GatekeeperOptions options_;
};

}  // namespace starling::stream
