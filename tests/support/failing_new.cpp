// SPDX-License-Identifier: Apache-2.0
// Replaces operator new and operator delete of the whole program: see failing_new.hpp.
#include "tests/support/failing_new.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> fails_from_bytes{never};
thread_local bool is_spared = false;
thread_local bool is_counting = false;
thread_local std::uint64_t allocations_left = 0;  ///< number of allocations until one fails

/// Counts an allocation, and returns whether it fails.
bool is_the_one() {
  return is_counting && allocations_left > 0 && --allocations_left == 0;
}

}  // namespace

void* operator new(std::size_t bytes) {
  const bool fails = (bytes >= fails_from_bytes && !is_spared) || is_the_one();
  void* memory = fails ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Without the functions for arrays and those that do not throw, the program would call
// AddressSanitizer's functions. These functions never fail, and AddressSanitizer would report a
// mismatch with the operator delete below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}

void* operator new[](std::size_t bytes, const std::nothrow_t& no_throw) noexcept {
  return operator new(bytes, no_throw);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const bool fails = (bytes >= fails_from_bytes && !is_spared) || is_the_one();
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = fails ? nullptr : std::aligned_alloc(unit, (bytes / unit + 1) * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace starling::test {

FailingNew::FailingNew(std::size_t bytes_min, On threads) {
  is_spared = threads == On::other_threads;
  fails_from_bytes = bytes_min;
}

FailingNew::~FailingNew() {
  fails_from_bytes = never;
  is_spared = false;
}

FailingAllocation::FailingAllocation(std::uint64_t number) {
  allocations_left = number;
  is_counting = true;
}

FailingAllocation::~FailingAllocation() {
  is_counting = false;
}

std::uint64_t FailingAllocation::left() const {
  return allocations_left;
}

SparedAllocations::SparedAllocations() : was_counting_(std::exchange(is_counting, false)) {}

SparedAllocations::~SparedAllocations() {
  is_counting = was_counting_;
}

}  // namespace starling::test
