// SPDX-License-Identifier: Apache-2.0
// See client_options.hpp.
#include "starling/clients/c/client_options.hpp"

#include <string>

#include <zmq.hpp>

#include "starling/clients/c/inputs.hpp"

namespace starling::c {

zmq::context_t& zmq_context() {
  static zmq::context_t& context = *new zmq::context_t;
  return context;
}

protocol::ClientOptions client_options(const char* commands, const char* name,
                                       std::int64_t timeout_ms) {
  constexpr std::int64_t day_ms = 86'400'000;
  if (timeout_ms < 1 || timeout_ms > day_ms)
    fail(STARLING_INVALID_ARGUMENT, "options.timeout_ms is " + std::to_string(timeout_ms) +
                                        "; it must be 1 to " + std::to_string(day_ms) + ".");
  return {.commands = text_of(commands, "options.commands"),
          .name = text_of(name, "options.name"),
          .timeout_ms = timeout_ms,
          .connect_timeout_ms = timeout_ms};
}

}  // namespace starling::c
