// SPDX-License-Identifier: Apache-2.0
// Tests that a client which sends without pause leaves the loop its turns for everything else.
#include "starling/stream/sockets/command_socket.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>
#include <zmq.hpp>

namespace starling::stream {
namespace {

TEST(CommandSocket, TakesABoundedNumberOfRequestsBetweenTwoOtherTasksHoweverManyArrive) {
  constexpr int requests = 200'000;
  constexpr int per_turn = 64;  // see command_socket.cpp
  boost::asio::io_context loop{1};
  zmtp::IoThreads threads{1};
  int taken = 0;
  int taken_before = 0;
  int most = 0;
  CommandSocket socket(loop, threads,
                       {.endpoint = "tcp://127.0.0.1:*", .message_bytes_max = 1 << 20},
                       {.request = [&](const Peer&, const ReceivedBytes&) { ++taken; },
                        .malformed = [](const Peer&) {},
                        .may_read = [] { return true; }});

  std::atomic<bool> is_done = false;
  std::thread sender([&, endpoint = socket.endpoint()] {
    zmq::context_t context;
    zmq::socket_t peer(context, zmq::socket_type::dealer);
    peer.set(zmq::sockopt::sndtimeo, 10);
    peer.set(zmq::sockopt::linger, 0);
    peer.connect(endpoint);
    constexpr std::string_view request = "request";
    while (!is_done) peer.send(zmq::buffer(request), zmq::send_flags::none);
  });

  // A task that is always waiting, as a tick that is due is.
  std::function<void()> other_task = [&] {
    most = std::max(most, taken - taken_before);
    taken_before = taken;
    if (taken < requests) boost::asio::post(loop, other_task);
  };
  boost::asio::post(loop, other_task);
  while (taken < requests) loop.run_one();
  is_done = true;
  sender.join();
  // One turn was posted before the task, and requests arrive in another.
  EXPECT_LE(most, 2 * per_turn);
  EXPECT_GT(most, 0);
}

}  // namespace
}  // namespace starling::stream
