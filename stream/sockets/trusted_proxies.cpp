// SPDX-License-Identifier: Apache-2.0
// Takes lists of addresses apart, from the last to the first: a proxy adds its client at the end.
// See trusted_proxies.hpp.
#include "starling/stream/sockets/trusted_proxies.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace starling::stream {

namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

/// Returns the parts between separators that are not in quotes.
std::vector<std::string_view> divided(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '\\' && is_quoted) ++i;
    if (is_quoted || i >= text.size() || text[i] != separator) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

/// IPv4 addresses that are written as IPv6 are the same as IPv4 addresses.
ip::address plain(ip::address address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  return address;
}

/// Reads "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:80".
std::optional<ip::address> address_of_node(std::string_view node) {
  if (node.starts_with('[')) {
    const std::size_t end = node.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    node = node.substr(1, end - 1);
  } else if (std::ranges::count(node, ':') == 1) {
    node = node.substr(0, node.find(':'));
  }
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(node), error);
  if (error) return std::nullopt;
  return plain(address);
}

/// Returns the nodes of Forwarded's members "for". An element without one gives an empty node.
std::vector<std::string> nodes_of_forwarded(std::string_view value) {
  std::vector<std::string> nodes;
  if (trimmed(value).empty()) return nodes;
  for (const std::string_view element : divided(value, ',')) {
    std::string node;
    for (const std::string_view pair : divided(element, ';')) {
      if (lower(pair.substr(0, 4)) != "for=") continue;
      std::string_view text = pair.substr(4);
      if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"'))
        text = text.substr(1, text.size() - 2);
      node = text;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<std::string> nodes_of_x_forwarded_for(std::string_view value) {
  std::vector<std::string> nodes;
  if (trimmed(value).empty()) return nodes;
  for (const std::string_view node : divided(value, ',')) nodes.emplace_back(node);
  return nodes;
}

constexpr std::array<unsigned char, 12> proxy_signature = {'\r', '\n', '\r', '\n', 0,   '\r',
                                                           '\n', 'Q',  'U',  'I',  'T', '\n'};
constexpr unsigned char version_and_local = 0x20;
constexpr unsigned char version_and_proxy = 0x21;
constexpr unsigned char tcp_over_ipv4 = 0x11;
constexpr unsigned char tcp_over_ipv6 = 0x21;
constexpr std::size_t proxy_header_bytes_max = 4096;

}  // namespace

TrustedProxies::TrustedProxies(std::string_view text) {
  if (text == "none") return;
  for (const std::string_view part : divided(text, ',')) {
    boost::system::error_code error;
    const ip::address address = ip::make_address(std::string(part), error);
    if (error)
      throw std::invalid_argument(
          "trusted-proxy: it must be none, or numeric addresses that are separated by commas, such "
          "as 127.0.0.1,10.0.0.7, and \"" +
          std::string(part) + "\" is neither");
    addresses_.push_back(plain(address));
  }
}

bool TrustedProxies::has(std::string_view address) const {
  if (addresses_.empty()) return false;
  const auto parsed = address_of_node(address);
  return parsed && std::ranges::find(addresses_, *parsed) != addresses_.end();
}

std::optional<std::string> TrustedProxies::client_of(std::string_view forwarded,
                                                     std::string_view x_forwarded_for) const {
  const auto nodes = nodes_of_forwarded(forwarded);
  const auto x_nodes = nodes_of_x_forwarded_for(x_forwarded_for);
  if (nodes.empty()) return last_untrusted(x_nodes);
  const auto client = last_untrusted(nodes);
  // A proxy that writes one of the two fields may pass the other on as its client has sent it.
  if (!x_nodes.empty() && last_untrusted(x_nodes) != client) return std::nullopt;
  return client;
}

std::optional<std::string> TrustedProxies::last_untrusted(
    const std::vector<std::string>& nodes) const {
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto address = address_of_node(*node);
    if (!address) return std::nullopt;
    if (std::ranges::find(addresses_, *address) == addresses_.end()) return address->to_string();
  }
  return std::nullopt;
}

bool is_forwarding_field(std::string_view name) {
  static constexpr auto names = std::to_array<std::string_view>({"forwarded",
                                                                 "via",
                                                                 "x-real-ip",
                                                                 "x-client-ip",
                                                                 "x-cluster-client-ip",
                                                                 "true-client-ip",
                                                                 "client-ip",
                                                                 "cf-connecting-ip",
                                                                 "cf-connecting-ipv6",
                                                                 "cf-ray",
                                                                 "cdn-loop",
                                                                 "fastly-client-ip",
                                                                 "fly-client-ip",
                                                                 "x-azure-clientip",
                                                                 "x-appengine-user-ip",
                                                                 "x-envoy-external-address",
                                                                 "x-amzn-trace-id",
                                                                 "x-varnish",
                                                                 "proxy-client-ip",
                                                                 "wl-proxy-client-ip"});
  static constexpr auto beginnings =
      std::to_array<std::string_view>({"x-forwarded", "x-original-forwarded", "x-proxyuser"});
  const std::string small = lower(name);
  return std::ranges::find(names, small) != names.end() ||
         std::ranges::any_of(beginnings, [&](auto each) { return small.starts_with(each); });
}

std::optional<std::size_t> proxy_header_bytes(std::span<const unsigned char> head) {
  if (!std::ranges::equal(head.first(proxy_signature.size()), proxy_signature)) return 0;
  if (head[12] != version_and_local && head[12] != version_and_proxy) return std::nullopt;
  const std::size_t bytes = proxy_head_bytes + (std::size_t{head[14]} << 8) + head[15];
  if (bytes > proxy_header_bytes_max) return std::nullopt;
  return bytes;
}

std::optional<std::string> proxy_header_client(std::span<const unsigned char> header) {
  if (header[12] == version_and_local) return std::string();
  // The addresses of both ends, and then their ports.
  const auto addresses = header.subspan(proxy_head_bytes);
  const auto begins_with = [&](auto& bytes) {
    constexpr std::size_t port_bytes = 4;
    if (addresses.size() < 2 * bytes.size() + port_bytes) return false;
    std::ranges::copy(addresses.first(bytes.size()), bytes.begin());
    return true;
  };
  ip::address_v4::bytes_type v4;
  if (header[13] == tcp_over_ipv4 && begins_with(v4)) return ip::address_v4(v4).to_string();
  ip::address_v6::bytes_type v6;
  if (header[13] == tcp_over_ipv6 && begins_with(v6)) return plain(ip::address_v6(v6)).to_string();
  return std::nullopt;
}

}  // namespace starling::stream
