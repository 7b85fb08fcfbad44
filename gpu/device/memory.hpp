// SPDX-License-Identifier: Apache-2.0
// Owners of device memory, and of pinned host memory that the device can access. Buffers are
// move-only, and their contents are unset until written. Every allocation of device memory counts
// against the limit of one engine or searcher.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>

#include "starling/gpu/device/cuda_stream.hpp"

namespace starling::gpu {

/// Allocates device memory for one engine or searcher, at most `bytes_max` bytes in total. Any
/// thread may call its functions.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Throws std::runtime_error if `bytes_max` would be exceeded. Throws DeviceError if the device
  /// has too little free memory.
  void* allocate(std::size_t bytes);
  void release(void* memory, std::size_t bytes) noexcept;
  std::uint64_t bytes_used() const { return bytes_used_; }
  /// Returns how many more bytes may be allocated: what `bytes_max` leaves, or the free memory of
  /// the current device if that is less.
  std::uint64_t bytes_left() const;

 private:
  std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> bytes_used_{0};
};

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit DeviceBuffer(DeviceMemory& memory) : memory_(&memory) {}
  DeviceBuffer(DeviceMemory& memory, std::size_t count)
      : memory_(&memory),
        data_(static_cast<T*>(memory.allocate(count * sizeof(T)))),
        room_(count) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : memory_(other.memory_),
        data_(std::exchange(other.data_, nullptr)),
        room_(std::exchange(other.room_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) memory_->release(data_, room_ * sizeof(T));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t room() const { return room_; }

  /// Makes room for `count` elements. A buffer that is too small grows by at least an eighth and
  /// loses its contents, because the old memory is freed first. If the allocation of the new memory
  /// throws, the buffer is empty. Do not call while the device may still use the buffer.
  void reserve(std::size_t count) {
    if (count <= room_) return;
    const std::size_t room = grown(count);
    *this = DeviceBuffer(*memory_);
    *this = DeviceBuffer(*memory_, room);
  }

  /// Does the same as reserve(count). If the buffer grows, also enqueues work that sets all its
  /// bytes to 0. Use it for buffers that are copied as a whole, including elements that no kernel
  /// has written.
  void reserve_cleared(std::size_t count, const CudaStream& stream) {
    if (count <= room_) return;
    reserve(count);
    check(cudaMemsetAsync(data_, 0, room_ * sizeof(T), stream.get()));
  }

  /// Does the same as reserve(count), but keeps the first `kept` elements. If the buffer grows,
  /// waits for the CUDA stream. If the allocation throws, the buffer is unchanged.
  void reserve(std::size_t count, std::size_t kept, const CudaStream& stream) {
    if (count <= room_) return;
    DeviceBuffer larger(*memory_, grown(count));
    if (kept > 0)
      check(cudaMemcpyAsync(larger.data_, data_, kept * sizeof(T), cudaMemcpyDeviceToDevice,
                            stream.get()));
    stream.wait();
    *this = std::move(larger);
  }

 private:
  std::size_t grown(std::size_t count) const { return std::max(count, room_ + room_ / 8); }

  DeviceMemory* memory_;
  T* data_ = nullptr;
  std::size_t room_ = 0;
};

/// Allocates page-locked host memory. Only copies from or to page-locked memory overlap with
/// kernels.
class PinnedMemory : public std::pmr::memory_resource {
 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return dynamic_cast<const PinnedMemory*>(&other) != nullptr;
  }
};

/// Returns the PinnedMemory that all PinnedBuffers share. It holds no state.
PinnedMemory& pinned_memory();

template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t count)
      : data_(static_cast<T*>(pinned_memory().allocate(count * sizeof(T), alignof(T)))),
        room_(count) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), room_(std::exchange(other.room_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) pinned_memory().deallocate(data_, room_ * sizeof(T), alignof(T));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t room() const { return room_; }

  /// Makes room for `count` elements. A buffer that is too small grows by at least an eighth and
  /// loses its contents, because the old memory is freed first.
  void reserve(std::size_t count) {
    if (count <= room_) return;
    const std::size_t room = std::max(count, room_ + room_ / 8);
    *this = PinnedBuffer();
    *this = PinnedBuffer(room);
  }

 private:
  T* data_ = nullptr;
  std::size_t room_ = 0;
};

/// A copy between host and device of at least this many bytes runs on a CUDA stream and a thread of
/// its own. A copy of this size takes 10 us at 50 GB/s. For a smaller copy, waking a thread would
/// cost more than the copy itself.
inline constexpr std::size_t bytes_beside_min = std::size_t{512} << 10;

/// Only enqueues the copy, as do the three functions below. Do not touch source or destination
/// until the CUDA stream has done the copy.
template <class T>
void copy_to_device_async(std::span<const T> from, T* to, const CudaStream& stream) {
  if (from.empty()) return;
  check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream.get()));
}

template <class T>
void copy_to_device_async(std::span<const T> from, DeviceBuffer<T>& to, const CudaStream& stream) {
  copy_to_device_async(from, to.data(), stream);
}

template <class T>
void copy_on_device_async(const T* from, DeviceBuffer<T>& to, std::size_t count,
                          const CudaStream& stream) {
  if (count == 0) return;
  check(
      cudaMemcpyAsync(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToDevice, stream.get()));
}

template <class T>
void copy_to_host_async(const T* from, std::span<T> to, const CudaStream& stream) {
  if (to.empty()) return;
  check(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, stream.get()));
}

}  // namespace starling::gpu
