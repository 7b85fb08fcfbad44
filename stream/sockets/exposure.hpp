// SPDX-License-Identifier: Apache-2.0
// The warning of a server whose endpoints are open to other machines (--insecure). Server logs it
// at the start and once a minute.
#pragma once

#include <string>

namespace starling::stream {

/// The endpoints of a server, and whether keys and TLS protect them.
struct Exposure {
  std::string commands{};
  std::string results{};
  std::string http{};  ///< an address and a port
  bool has_keys = false;
  bool has_tls = false;  ///< the HTTP endpoint has TLS
};

/// Returns the sentence that warns of endpoints that other machines reach without authentication or
/// without encryption; empty if the server has no such endpoint.
std::string exposure_warning(const Exposure& exposure);

}  // namespace starling::stream
