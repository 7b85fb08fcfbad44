// SPDX-License-Identifier: Apache-2.0
// What the client and the subscription of the interface share: their options and ZeroMQ's context.
#pragma once

#include <cstdint>

#include "starling/protocol/client/client.hpp"

namespace zmq {
class context_t;
}

namespace starling::c {

/// The context of the process. It lives until the process ends, because a client may be destroyed
/// after static objects.
zmq::context_t& zmq_context();

/// The options that starling_client_options and starling_subscription_options have in common.
struct GivenOptions {
  const char* commands = nullptr;
  const char* name = nullptr;
  std::int64_t timeout_ms = 0;
  const char* key_file = nullptr;    ///< may be NULL
  const char* server_key = nullptr;  ///< may be NULL
};

/// Throws FailureError if an option is missing or out of range, or the key file is bad.
protocol::ClientOptions client_options(const GivenOptions& given);

}  // namespace starling::c
