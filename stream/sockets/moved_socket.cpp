// SPDX-License-Identifier: Apache-2.0
// Releases the socket from its loop: see moved_socket.hpp.
#include "starling/stream/sockets/moved_socket.hpp"

#include <unistd.h>

namespace starling::stream {

using Tcp = boost::asio::ip::tcp;

std::shared_ptr<Tcp::socket> moved_to(boost::asio::io_context& context, Tcp::socket socket) {
  boost::system::error_code error;
  const auto protocol = socket.local_endpoint(error).protocol();
  if (error) return nullptr;
  const auto handle = socket.release(error);
  if (error) return nullptr;
  auto moved = std::make_shared<Tcp::socket>(context);
  moved->assign(protocol, handle, error);
  if (!error) return moved;
  ::close(handle);
  return nullptr;
}

}  // namespace starling::stream
