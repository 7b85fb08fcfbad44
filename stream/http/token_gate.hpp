// SPDX-License-Identifier: Apache-2.0
// Finds the principal of a request by its bearer token (RFC 6750), and decides whether the
// principal may use a route. HttpApi calls it before a request's body is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "starling/stream/access/access.hpp"
#include "starling/stream/http/routes.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/state/peer_buckets.hpp"

namespace starling::stream {

/// A browser cannot set the Authorization field of a WebSocket. Instead, it offers two protocols:
/// socket_protocol, which the server chooses, and token_protocol followed by the token, which no
/// answer repeats.
inline constexpr std::string_view socket_protocol = "starling.v1";
inline constexpr std::string_view token_protocol = "starling.bearer.";

/// Only the loop calls the functions.
class TokenGate {
 public:
  struct Parts {
    Access* access = nullptr;  ///< null: a server without keys
    /// How many wrong tokens one address may send.
    PeerBucketLimits wrong_tokens{.burst = 10, .interval_us = 1'000'000};
  };

  explicit TokenGate(Parts parts);

  /// Sets the principal of the request. Returns the refusal if the request has no principal, or if
  /// the principal may not use the route. A right token passes even after too many wrong ones, so
  /// no client can lock out others at the same address.
  std::optional<HttpAnswer> check(HttpHead& head, const Route& route);
  /// Returns the refusal if the principal may not receive the lists of the stream.
  std::optional<HttpAnswer> check_stream(PrincipalId id, std::string_view stream) const;
  /// Returns the refusal if the principal is no longer in the keys file.
  std::optional<HttpAnswer> check_again(PrincipalId id) const;

  bool has_keys() const { return parts_.access != nullptr && parts_.access->has_keys(); }
  /// Returns how many requests had a wrong token, or no token where they needed one.
  std::uint64_t refused_count() const { return refused_; }

 private:
  HttpAnswer refuse(const HttpHead& head, bool has_token);

  Parts parts_;
  PeerBuckets wrong_tokens_;
  std::uint64_t refused_ = 0;
};

}  // namespace starling::stream
