// SPDX-License-Identifier: Apache-2.0
// Replaces localhost with 127.0.0.1, and turns ZeroMQ's error numbers into sentences: see
// bind_endpoint.hpp.
#include "starling/stream/sockets/bind_endpoint.hpp"

#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <net/if.h>
#include <zmq.hpp>

namespace starling::stream {

namespace {

constexpr std::string_view local_host = "tcp://localhost:";

constexpr const char* endpoint_form =
    "write tcp://HOST:PORT, where HOST is a numeric address (127.0.0.1), localhost or * (every "
    "address of this machine), and PORT is a number or * (any free port)";

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return text == "*" || (error == std::errc() && end == text.data() + text.size() && port <= 65535);
}

bool is_host(std::string host) {
  if (host == "*" || host == "localhost" || if_nametoindex(host.c_str()) != 0) return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  boost::system::error_code error;
  boost::asio::ip::make_address(host, error);
  return !error;
}

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
    throw std::runtime_error(endpoint_form);
  }
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  check_reach(reach_of(bound).value_or(Reach::network), allowed);
  return bound;
}

std::string fault_of_endpoint(const std::string& endpoint) {
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view ipc = "ipc://";
  if (endpoint.starts_with(ipc) && endpoint.size() > ipc.size()) return {};
  const std::size_t colon = endpoint.rfind(':');
  const bool is_well_formed = endpoint.starts_with(tcp) && colon >= tcp.size() &&
                              is_host(endpoint.substr(tcp.size(), colon - tcp.size())) &&
                              is_port(std::string_view(endpoint).substr(colon + 1));
  return is_well_formed ? "" : endpoint_form;
}

}  // namespace starling::stream
