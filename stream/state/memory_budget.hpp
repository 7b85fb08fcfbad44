// SPDX-License-Identifier: Apache-2.0
// Says whether the process may hold more. A server that reaches its budget refuses to hold more and
// goes on, instead of being ended by the system. Growth asks it before the tables grow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace starling::stream {

/// How much memory a process uses, in bytes.
struct MemoryUse {
  std::uint64_t resident = 0;
  std::uint64_t address_space = 0;
};

/// How much memory a process may use, in bytes. Without a limit, the largest number.
struct MemoryLimits {
  std::uint64_t resident = ~std::uint64_t{0};
  std::uint64_t address_space = ~std::uint64_t{0};
};

MemoryUse memory_use();

/// Returns the least of the machine's memory and of the limits that the control groups of this
/// process set (version 1 or 2, the whole path up to the root), and RLIMIT_AS. The files are read
/// below `root`; tests have another one than "".
MemoryLimits memory_limits(const std::string& root = "");

class MemoryBudget {
 public:
  /// The part of the limits that a budget is by default.
  static constexpr double part = 0.85;

  struct Options {
    /// The most resident memory. 0: `part` of limits.resident.
    std::uint64_t bytes_max = 0;
    MemoryLimits limits{};
    std::function<MemoryUse()> use = memory_use;
  };

  explicit MemoryBudget(Options options);

  /// Returns whether less than the budget is in use. `now_us` is a time of the steady clock.
  /// Reading the use takes some microseconds, so it is read at most once in 10 ms. Bytes that were
  /// passed to expect() since then count as used. Once the budget is used up, there is no room
  /// until the use is 2 % below it. `copied_bytes` are those that a growing array needs for a
  /// moment; with them, the use must stay within the limits themselves.
  bool has_room(std::int64_t now_us, std::uint64_t copied_bytes = 0);
  /// Counts bytes that the process is about to use.
  void expect(std::uint64_t bytes) { expected_ += bytes; }

  std::uint64_t bytes_max() const { return bytes_max_; }
  /// Returns the bytes that were in use at the last look, in bytes of resident memory.
  std::uint64_t used() const { return use_.resident; }

 private:
  bool is_below(const MemoryLimits& most, double part_of_most, std::uint64_t more) const;

  std::uint64_t bytes_max_;
  MemoryLimits limits_;
  std::function<MemoryUse()> read_use_;
  MemoryUse use_{};
  std::int64_t read_us_ = 0;
  bool has_read_ = false;
  bool has_room_ = true;
  std::uint64_t expected_ = 0;
};

}  // namespace starling::stream
