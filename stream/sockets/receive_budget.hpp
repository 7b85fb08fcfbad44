// SPDX-License-Identifier: Apache-2.0
// The memory for requests that are being received or wait for the loop, of all connections
// together. A connection takes room for a whole frame before it receives the frame. If there is no
// room, the connection waits for its turn. CommandSocket owns the budget.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "starling/stream/zmtp/link.hpp"

namespace starling::stream {

/// Any thread may call the functions.
class ReceiveBudget {
 public:
  /// `granted` is called for a connection that has waited and may go on. It must not call functions
  /// of the budget.
  ReceiveBudget(std::size_t bytes_max,
                std::function<void(const std::shared_ptr<zmtp::Link>&)> granted)
      : bytes_max_(bytes_max), granted_(std::move(granted)) {}

  /// Takes room. If too little room is free, returns false: the connection waits in line until
  /// `granted` is called, and then calls take() again. With `may_overdraw`, there is always room.
  /// This is for short requests of connections without other requests, so that long requests keep
  /// no connection out.
  bool take(const std::shared_ptr<zmtp::Link>& link, std::size_t bytes, bool may_overdraw);
  void give_back(std::size_t bytes);
  /// Takes the connection out of the line, and gives back the room that it was granted.
  void forget(const std::shared_ptr<zmtp::Link>& link);

  bool has_waiting() const;

 private:
  struct Waiting {
    std::shared_ptr<zmtp::Link> link;
    std::size_t bytes = 0;
  };

  bool fits(std::size_t bytes) const { return used_ == 0 || used_ + bytes <= bytes_max_; }
  /// Grants room to the first connection in line, and returns it; nullptr: there is not enough
  /// room. It allocates no memory.
  std::shared_ptr<zmtp::Link> grant_one();

  const std::size_t bytes_max_;
  const std::function<void(const std::shared_ptr<zmtp::Link>&)> granted_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::deque<Waiting> line_;
};

}  // namespace starling::stream
