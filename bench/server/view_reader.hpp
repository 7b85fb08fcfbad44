// SPDX-License-Identifier: Apache-2.0
// ViewReader reads a view over a WebSocket, and notes each of its messages. The workload `views`
// uses it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "starling/bench/server/server_child.hpp"
#include "starling/protocol/wire/socket_codec.hpp"

namespace starling::bench {

/// The figures of one received message.
struct ShownFrame {
  std::int64_t received_us = 0;  ///< time on the wall clock
  std::int64_t tau_us = 0;
  std::uint64_t in_view = 0;
  std::size_t bytes = 0;
  bool is_raster = false;
};

class ViewReader {
 public:
  /// Opens a WebSocket with the view, and reads on a thread of its own. Throws std::runtime_error
  /// if the server refuses the view.
  ViewReader(const ServerChild& server, const protocol::View& view);
  ~ViewReader();
  ViewReader(const ViewReader&) = delete;
  ViewReader& operator=(const ViewReader&) = delete;

  void stop();
  /// Call after stop(). Rethrows the exception of the thread if it had one.
  const std::vector<ShownFrame>& frames() const;

 private:
  void read_all();
  /// Fills `bytes`. Returns false if the reader was stopped.
  bool read(std::span<std::byte> bytes);
  void note(const std::vector<std::byte>& message);

  int socket_;
  std::vector<ShownFrame> frames_;
  std::exception_ptr error_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace starling::bench
