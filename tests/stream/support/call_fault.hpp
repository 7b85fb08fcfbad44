// SPDX-License-Identifier: Apache-2.0
// Makes one call of another program fail. That program preloads a library, failing_sockets or
// failing_files, which defines functions of the C library and passes them on. The test and the
// program map the same file, which says which call fails.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace starling::stream {

/// Returns the index of a call among those that a library defines.
template <std::size_t count>
constexpr std::uint32_t index_of_call(const std::array<std::string_view, count>& calls,
                                      std::string_view name) {
  const auto found = std::ranges::find(calls, name);
  if (found == calls.end()) throw std::invalid_argument(std::string(name));
  return static_cast<std::uint32_t>(found - calls.begin());
}

/// The content of the file: which call fails next. All zeros: no call fails.
class CallFault {
 public:
  /// Makes the call with this number, counted from 1, fail with this errno.
  void arm(std::uint32_t call, std::uint32_t number, std::uint32_t error) {
    state_ = State{call} << 48 | State{error} << 32 | number;
  }
  /// Returns whether the call has failed. From now on no call fails.
  bool disarm() { return count_in(state_.exchange(0)) == 0; }

  /// Counts a call. Returns the errno with which it fails; 0: it does not fail.
  int error_of(std::uint32_t call) {
    State state = state_;
    do {
      if (count_in(state) == 0 || state >> 48 != call) return 0;
    } while (!state_.compare_exchange_weak(state, state - 1));
    return count_in(state) == 1 ? static_cast<int>(state >> 32 & 0xffff) : 0;
  }

 private:
  using State = std::uint64_t;  ///< 16 bits for the call, 16 for errno, 32 for the calls left
  static std::uint32_t count_in(State state) { return static_cast<std::uint32_t>(state); }

  std::atomic<State> state_;
  static_assert(std::atomic<State>::is_always_lock_free);
};

/// Name of the environment variable that holds the path of the file.
inline constexpr const char* call_fault_variable = "STARLING_CALL_FAULT";

/// Returns the file's content, or nullptr if it cannot be mapped.
inline void* map_call_fault(int file) {
  void* const mapped =
      mmap(nullptr, sizeof(CallFault), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

/// Makes the file, for the test, and removes it.
class CallFaultFile {
 public:
  explicit CallFaultFile(std::string path) : path_(std::move(path)) {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool has_room = file >= 0 && ftruncate(file, sizeof(CallFault)) == 0;
    void* const mapped = has_room ? map_call_fault(file) : nullptr;
    if (file >= 0) close(file);
    if (mapped == nullptr) throw std::runtime_error(path_ + " cannot be mapped");
    fault_ = new (mapped) CallFault{};
  }
  ~CallFaultFile() {
    munmap(fault_, sizeof(CallFault));
    unlink(path_.c_str());
  }
  CallFaultFile(const CallFaultFile&) = delete;
  CallFaultFile& operator=(const CallFaultFile&) = delete;

  CallFault* operator->() const { return fault_; }
  std::string environment() const { return std::string(call_fault_variable) + "=" + path_; }

 private:
  std::string path_;
  CallFault* fault_ = nullptr;
};

/// Returns whether this call fails, and sets errno if it does. The library calls this function.
/// Calls on the fault file itself must not count.
inline bool call_fails(std::uint32_t call) {
  static auto* const fault = []() -> CallFault* {
    const char* const path = std::getenv(call_fault_variable);
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const mapped = map_call_fault(file);
    close(file);
    return static_cast<CallFault*>(mapped);
  }();
  const int error = fault == nullptr ? 0 : fault->error_of(call);
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace starling::stream
