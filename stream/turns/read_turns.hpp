// SPDX-License-Identifier: Apache-2.0
// Whose bytes an I/O thread reads next. Decrypting and dividing what a connection sends takes the
// thread's time, so connections with bytes to read wait for turns, as requests do for the loop: the
// owner that has used the least of the thread is next. A Listener has one object for each thread.
#pragma once

#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "starling/stream/turns/fair_queue.hpp"
#include "starling/stream/turns/request_owner.hpp"

namespace starling::stream {

/// A connection. Only the thread of ReadTurns calls the functions.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Payer reads_for() const = 0;
  /// Reads for a short time. Returns true if there may be more to read now.
  virtual bool take_read_turn() = 0;
};

/// Only the thread that runs `loop` calls the functions.
class ReadTurns : public std::enable_shared_from_this<ReadTurns> {
 public:
  explicit ReadTurns(boost::asio::io_context& loop) : loop_(loop) {}

  /// Gives the reader turns until it has nothing more to read: the first one at once, if the thread
  /// has not read for a while and no other reader waits.
  void add(std::shared_ptr<Reader> reader);

 private:
  void turn_soon();
  void take_turn();

  boost::asio::io_context& loop_;
  FairQueue<std::shared_ptr<Reader>> turns_;
  bool is_turn_posted_ = false;
  std::int64_t read_us_ = 0;  ///< the end of the last turn
};

}  // namespace starling::stream
