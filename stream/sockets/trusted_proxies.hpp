// SPDX-License-Identifier: Apache-2.0
// What is in front of the HTTP endpoint, and for which client a trusted proxy sends a request.
// HttpServer reads the header of the PROXY protocol, and HttpConnection the fields Forwarded
// (RFC 7239) and X-Forwarded-For.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

namespace starling::stream {

class TrustedProxies {
 public:
  /// `text` is "none", or addresses that are separated by commas. Throws std::invalid_argument,
  /// with a sentence, for any other text.
  explicit TrustedProxies(std::string_view text);

  bool has(std::string_view address) const;
  /// Returns the numeric address of the client for which a trusted proxy sends a request: the last
  /// address in the fields that is not a trusted proxy's. `forwarded` and `x_forwarded_for` are the
  /// values of the fields of these names; several values are joined by commas. Returns
  /// std::nullopt if the fields do not name the client, or name two.
  std::optional<std::string> client_of(std::string_view forwarded,
                                       std::string_view x_forwarded_for) const;

 private:
  std::optional<std::string> last_untrusted(const std::vector<std::string>& nodes) const;

  std::vector<boost::asio::ip::address> addresses_;
};

/// Returns whether proxies send a field of this name for another client.
bool is_forwarding_field(std::string_view name);

/// The header of the PROXY protocol, version 2, that a proxy sends before the bytes of its client.
inline constexpr std::size_t proxy_head_bytes = 16;
/// Returns the length of the whole header, at least proxy_head_bytes. 0: the connection begins with
/// something else. std::nullopt: the header has another version or is too long. `head` has
/// proxy_head_bytes bytes.
std::optional<std::size_t> proxy_header_bytes(std::span<const unsigned char> head);
/// Returns the client's numeric address in a whole header; empty: the proxy itself has opened the
/// connection. std::nullopt: the header is not valid, or does not name an IP address.
std::optional<std::string> proxy_header_client(std::span<const unsigned char> header);

}  // namespace starling::stream
