// SPDX-License-Identifier: Apache-2.0
// Keys protect the ZeroMQ endpoints. HTTP needs keys and TLS: see exposure.hpp.
#include "starling/stream/sockets/exposure.hpp"

#include "starling/stream/sockets/reach.hpp"

namespace starling::stream {

std::string exposure_warning(const Exposure& exposure) {
  std::string reached;
  const auto add = [&](const char* name, const std::string& endpoint, const std::string& text) {
    if (reach_of(endpoint) == Reach::machine) return false;
    reached += (reached.empty() ? "" : ", ") + std::string(name) + " " + text;
    return true;
  };
  // With keys, the ZeroMQ endpoints are encrypted.
  bool has_open = false;
  if (!exposure.has_keys) {
    has_open |= add("commands", exposure.commands, exposure.commands);
    has_open |= add("results", exposure.results, exposure.results);
  }
  const bool has_http = !(exposure.has_keys && exposure.has_tls) &&
                        add("http", "tcp://" + exposure.http, exposure.http);
  if (reached.empty()) return {};
  const std::string subject = "insecure: other machines can reach " + reached + ". ";
  if (exposure.has_keys)
    return subject +
           "It takes tokens, but there is no encryption: every reader of the network can use them. "
           "Give --tls-cert and --tls-key";
  const char* lacks = "There is no authentication and no encryption";
  if (has_http && exposure.has_tls)
    lacks = has_open ? "There is no authentication, and only http is encrypted"
                     : "There is no authentication";
  return subject + lacks + ": every client that reaches " + (has_open ? "them" : "it") +
         " can read and change everything";
}

}  // namespace starling::stream
