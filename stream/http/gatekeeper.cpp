// SPDX-License-Identifier: Apache-2.0
// Compares Host and Origin with the names of the server: see gatekeeper.hpp.
#include "starling/stream/http/gatekeeper.hpp"

#include <algorithm>
#include <cctype>

#include "starling/stream/http/problem.hpp"

namespace starling::stream {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

/// Returns true for "" and for a port such as ":7413".
bool is_port(std::string_view text) {
  return text.empty() || (text.starts_with(':') &&
                          text.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

/// Returns the name in "name:port", in lower case, or the IPv6 address in "[address]:port". Returns
/// an empty text, which is no name of a server, if anything but a port comes after the name.
std::string name_of(std::string_view host) {
  const bool is_bracketed = host.starts_with('[');
  const std::size_t end = is_bracketed ? host.find(']') + 1 : std::min(host.find(':'), host.size());
  if (end == 0 || !is_port(host.substr(end))) return {};
  return lower(is_bracketed ? host.substr(1, end - 2) : host.substr(0, end));
}

bool is_loopback(std::string_view name) {
  return name == "localhost" || name == "127.0.0.1" || name == "::1";
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::any_of(list, [&](const std::string& each) { return lower(each) == word; });
}

}  // namespace

std::optional<HttpAnswer> Gatekeeper::check_host(const HttpHead& head) const {
  if (head.host.empty()) return std::nullopt;  // HTTP/1.0, which no browser speaks
  const std::string name = name_of(head.host);
  if (is_loopback(name) || name == head.from.local_address || contains(options_.hosts, name))
    return std::nullopt;
  return problem_answer(421,
                        "\"" + head.host +
                            "\" is not a name of this server. Use localhost or its address, or "
                            "start the server with --http-allow-host NAME.");
}

std::optional<HttpAnswer> Gatekeeper::check_origin(const HttpHead& head) const {
  if (head.origin.empty()) return std::nullopt;  // not sent by a page: browsers add Origin
  const std::string origin = lower(head.origin);
  const std::string own = head.from.is_tls ? "https://" : "http://";
  if (origin == own + lower(head.host) || contains(options_.origins, origin)) return std::nullopt;
  return problem_answer(
      403, "Pages of \"" + head.origin +
               "\" may change and follow nothing here. To allow them, start the server with "
               "--http-allow-origin ORIGIN.");
}

}  // namespace starling::stream
