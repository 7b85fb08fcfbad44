// SPDX-License-Identifier: Apache-2.0
// The messages that wait to be written to one connection. A connection without encryption writes
// the shared memory of the messages. An encrypted connection seals a few frames at a time into its
// own buffer. Connection owns a WriteQueue.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "starling/stream/zmtp/curve_cipher.hpp"
#include "starling/stream/zmtp/wire_message.hpp"

namespace starling::stream::zmtp {

class WriteQueue {
 public:
  /// `charge` comes back in Written when the last byte of the message is written.
  void push(std::shared_ptr<const WireMessage> message, std::size_t charge);
  /// Puts the message in front of all messages that have not begun to be written.
  void push_first(std::shared_ptr<const WireMessage> message);

  bool empty() const { return entries_.empty() && sealed_written_ == sealed_.size(); }
  /// Returns the charge of all messages that are not wholly written.
  std::size_t charge() const { return charge_; }
  /// Returns the next bytes to write, at most those of 64 pieces. The memory stays valid until
  /// written(). `cipher` may be null.
  std::span<iovec> next(CurveCipher* cipher);

  struct Written {
    std::size_t messages = 0;  ///< number of messages of push() that are wholly written
    std::size_t charge = 0;    ///< charge of these messages together
  };
  /// Call it when the first `bytes` bytes of the last next() are written.
  Written written(std::size_t bytes);

 private:
  struct Entry {
    std::shared_ptr<const WireMessage> message;
    std::size_t charge = 0;
    bool is_answer = false;
  };

  void seal(CurveCipher& cipher);
  void finish_first(Written& written);

  std::deque<Entry> entries_;
  std::size_t charge_ = 0;
  std::size_t piece_ = 0;          ///< piece of the first message that is written next
  std::size_t piece_written_ = 0;  ///< bytes of this piece that are written
  std::size_t part_ = 0;           ///< part of the first message that is sealed next
  std::vector<std::byte> sealed_;
  std::size_t sealed_written_ = 0;
  std::array<iovec, 64> views_{};
};

}  // namespace starling::stream::zmtp
