// SPDX-License-Identifier: Apache-2.0
// From where a connection comes: the principal that has shown its key, and the address.
#pragma once

#include "starling/stream/turns/peer_address.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::simulation {

struct Origin {
  stream::zmtp::PrincipalId principal = stream::zmtp::PrincipalId::anonymous;
  stream::PeerAddress address{};
};

}  // namespace starling::simulation
