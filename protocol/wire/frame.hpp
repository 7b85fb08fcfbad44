// Bytes on their way out and in. FlatBuffers reads numbers in place, so what it reads must start at
// a multiple of 8; ZeroMQ promises that for no frame.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <flatbuffers/detached_buffer.h>

namespace starling::protocol {

/// An encoded message, owned; at most one frame of a multipart message.
class Frame {
 public:
  Frame() = default;
  explicit Frame(flatbuffers::DetachedBuffer buffer) : buffer_(std::move(buffer)) {}

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(buffer_.data(), buffer_.size()));
  }
  std::span<std::byte> mutable_bytes() {
    return std::as_writable_bytes(std::span(buffer_.data(), buffer_.size()));
  }
  std::size_t size() const { return buffer_.size(); }

 private:
  flatbuffers::DetachedBuffer buffer_;
};

/// A received frame where FlatBuffers may read it: in place if it lies well, else copied. Bytes
/// that lie well must outlive this and everything decoded from it.
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
