// SPDX-License-Identifier: Apache-2.0
// The types of a frame to send (Frame) and of a received frame (AlignedBytes). FlatBuffers reads
// numbers in place, so a received frame must start at an address that is a multiple of 8. ZeroMQ
// does not align frames.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <flatbuffers/detached_buffer.h>

namespace starling::protocol {

/// Owns an encoded message, or one frame of a multipart message. Copies share the bytes.
class Frame {
 public:
  Frame() = default;
  explicit Frame(flatbuffers::DetachedBuffer buffer)
      : buffer_(std::make_shared<flatbuffers::DetachedBuffer>(std::move(buffer))) {}

  std::span<const std::byte> bytes() const {
    if (buffer_ == nullptr) return {};
    return std::as_bytes(std::span(buffer_->data(), buffer_->size()));
  }
  std::span<std::byte> mutable_bytes() {
    if (buffer_ == nullptr) return {};
    return std::as_writable_bytes(std::span(buffer_->data(), buffer_->size()));
  }
  std::size_t size() const { return bytes().size(); }

 private:
  std::shared_ptr<flatbuffers::DetachedBuffer> buffer_;
};

/// A received frame at an address where FlatBuffers may read it. The constructor copies `bytes` if
/// they are not aligned. Otherwise this object points to `bytes`, and they must outlive this object
/// and everything that is decoded from it.
class AlignedBytes {
 public:
  static constexpr std::size_t alignment = 8;

  AlignedBytes() = default;
  explicit AlignedBytes(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> copy_;
  std::span<const std::byte> bytes_;
};

}  // namespace starling::protocol
