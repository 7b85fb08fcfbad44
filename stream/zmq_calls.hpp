// ZeroMQ's non-blocking calls may still be cut short by a signal (EINTR) and are then to be
// repeated. For the .cpp files of the two sockets and their watch.
#pragma once

#include <cerrno>

#include <zmq.hpp>

namespace starling::stream {

template <class Call>
auto uninterrupted(Call call) {
  for (;;) try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
}

}  // namespace starling::stream
