// SPDX-License-Identifier: Apache-2.0
// Decides whether the process may take more memory. A server that has used up its budget refuses
// requests that need more and goes on, so that the system does not kill it. Growth calls has_room()
// before the tables grow.
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

/// Returns two limits. `resident` is the least of the machine's memory and of the limits of this
/// process's control groups (version 1 or 2, the whole path up to the root). `address_space` is
/// RLIMIT_AS. The files of the groups are read below `root`, which is not empty in tests.
MemoryLimits memory_limits(const std::string& root = "");

class MemoryBudget {
 public:
  /// By default, a budget is this part of the limits.
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
  /// passed to expect() since the last read count as used. After false, returns true only when the
  /// use is 2 % below the budget. `copied_bytes` is what a growing array needs for a moment. With
  /// it, the use may exceed the budget, but must stay 3 % below the limits themselves.
  bool has_room(std::int64_t now_us, std::uint64_t copied_bytes = 0);
  /// Returns how many more bytes may be used within the budget. Bytes that were passed to expect()
  /// since the last read count as used.
  std::uint64_t bytes_left(std::int64_t now_us);
  /// Counts bytes that the process is about to use.
  void expect(std::uint64_t bytes) { expected_ += bytes; }

  std::uint64_t bytes_max() const { return bytes_max_; }
  /// Returns the bytes of resident memory when has_room() last read the use.
  std::uint64_t used() const { return use_.resident; }

 private:
  void look(std::int64_t now_us);
  MemoryLimits budget() const;
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
