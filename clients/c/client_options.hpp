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

/// Throws FailureError if an option is missing or out of range.
protocol::ClientOptions client_options(const char* commands, const char* name,
                                       std::int64_t timeout_ms);

}  // namespace starling::c
