// SPDX-License-Identifier: Apache-2.0
// Replaces localhost with 127.0.0.1, and turns ZeroMQ's error numbers into sentences: see
// bind_endpoint.hpp.
#include "starling/stream/sockets/bind_endpoint.hpp"

#include <cerrno>
#include <stdexcept>
#include <string_view>

#include <zmq.hpp>

namespace starling::stream {

namespace {

constexpr std::string_view local_host = "tcp://localhost:";

std::string with_numeric_host(const std::string& endpoint) {
  if (!endpoint.starts_with(local_host)) return endpoint;
  return "tcp://127.0.0.1:" + endpoint.substr(local_host.size());
}

/// Returns true if the error is about the endpoint's text: its form, its host or its transport.
bool is_about_text(int error) {
  return error == EINVAL || error == ENODEV || error == EPROTONOSUPPORT || error == ENOCOMPATPROTO;
}

}  // namespace

// ZeroMQ resolves the host itself, so the endpoint that it has bound is checked too.
std::string bind_endpoint(zmq::socket_t& socket, const std::string& endpoint, Reach allowed) {
  if (const auto reach = reach_of(endpoint)) check_reach(*reach, allowed);
  try {
    socket.bind(with_numeric_host(endpoint));
  } catch (const zmq::error_t& error) {
    if (!is_about_text(error.num())) throw std::runtime_error(error.what());
    throw std::runtime_error(
        "write tcp://HOST:PORT, where HOST is a numeric address (127.0.0.1), localhost or * (every "
        "address of this machine), and PORT is a number or * (any free port)");
  }
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  check_reach(reach_of(bound).value_or(Reach::network), allowed);
  return bound;
}

}  // namespace starling::stream
