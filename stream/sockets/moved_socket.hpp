// SPDX-License-Identifier: Apache-2.0
// Gives a connection of the loop to another thread. EventHub and SocketHub serve their readers on a
// thread of their own.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace starling::stream {

/// Moves a socket to `context`, which another thread may run. Returns null if the connection is
/// broken.
std::shared_ptr<boost::asio::ip::tcp::socket> moved_to(boost::asio::io_context& context,
                                                       boost::asio::ip::tcp::socket socket);

}  // namespace starling::stream
