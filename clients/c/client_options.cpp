// SPDX-License-Identifier: Apache-2.0
// Checks the options and reads the key file: see client_options.hpp.
#include "starling/clients/c/client_options.hpp"

#include <stdexcept>
#include <string>

#include <zmq.hpp>

#include "starling/clients/c/inputs.hpp"
#include "starling/protocol/keys/key_file.hpp"

namespace starling::c {
namespace {

std::optional<protocol::KeyPair> key_of(const GivenOptions& given) {
  if (given.key_file == nullptr && given.server_key == nullptr) return std::nullopt;
  if (given.key_file == nullptr)
    fail(STARLING_INVALID_ARGUMENT,
         "options.server_key is given without options.key_file; give the key file of this client, "
         "too.");
  const std::string file = text_of(given.key_file, "options.key_file");
  protocol::KeyPair key;
  try {
    key = protocol::read_key_file(file);
  } catch (const std::runtime_error& error) {
    fail(STARLING_INVALID_ARGUMENT, std::string("options.key_file: ") + error.what() + ".");
  }
  if (given.server_key != nullptr) {
    const std::string server_key = text_of(given.server_key, "options.server_key");
    try {
      key.server_key = protocol::public_key_from(server_key);
    } catch (const std::runtime_error& error) {
      fail(STARLING_INVALID_ARGUMENT,
           std::string("options.server_key is no key: ") + error.what() + ".");
    }
  }
  if (!key.server_key)
    fail(STARLING_INVALID_ARGUMENT,
         "The key file names no server; give options.server_key, or write server = \"...\" into "
         "the file.");
  return key;
}

}  // namespace

zmq::context_t& zmq_context() {
  static zmq::context_t& context = *new zmq::context_t;
  return context;
}

protocol::ClientOptions client_options(const GivenOptions& given) {
  constexpr std::int64_t day_ms = 86'400'000;
  if (given.timeout_ms < 1 || given.timeout_ms > day_ms)
    fail(STARLING_INVALID_ARGUMENT, "options.timeout_ms is " + std::to_string(given.timeout_ms) +
                                        "; it must be 1 to " + std::to_string(day_ms) + ".");
  return {.commands = text_of(given.commands, "options.commands"),
          .name = text_of(given.name, "options.name"),
          .key = key_of(given),
          .timeout_ms = given.timeout_ms,
          .connect_timeout_ms = given.timeout_ms};
}

}  // namespace starling::c
