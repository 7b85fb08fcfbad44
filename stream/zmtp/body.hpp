// SPDX-License-Identifier: Apache-2.0
// The memory of one received frame. Session fills it. A request keeps the memory until the request
// is decoded.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace starling::stream::zmtp {

/// The memory is from malloc, which neither sets the bytes nor touches the pages of a large block,
/// so a body that has only begun to arrive costs little.
class Body {
 public:
  Body() = default;
  /// `payload_at` is the number of bytes before the payload of an encrypted frame. The payload is
  /// aligned for FlatBuffers. Throws std::bad_alloc.
  Body(std::size_t bytes, std::size_t payload_at)
      : lead_((alignment - payload_at % alignment) % alignment),
        end_(bytes),
        memory_(static_cast<std::byte*>(std::malloc(lead_ + bytes + 1)), &std::free) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }

  std::span<std::byte> bytes() const {
    return memory_ == nullptr ? std::span<std::byte>()
                              : std::span(memory_.get() + lead_ + begin_, end_ - begin_);
  }
  /// Drops the first `count` bytes.
  void skip(std::size_t count) { begin_ += count; }
  const std::shared_ptr<std::byte>& owner() const { return memory_; }

 private:
  static constexpr std::size_t alignment = 8;

  std::size_t lead_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::shared_ptr<std::byte> memory_;
};

}  // namespace starling::stream::zmtp
