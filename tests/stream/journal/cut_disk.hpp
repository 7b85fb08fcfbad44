// SPDX-License-Identifier: Apache-2.0
// A simulated disk under a running server that loses power at any operation: in a write, before or
// after a sync, or between the steps that make a new file. From then on all operations fail, so
// the server ends and acknowledges nothing more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "tests/log/support/simulated_files.hpp"

namespace starling::stream {

class CutDisk {
 public:
  explicit CutDisk(std::uint64_t seed) : random_(seed) {}

  /// For JournalOptions::open. The disk must outlive the server.
  std::unique_ptr<log::Files> open();

  /// Cuts the power now, or in the operation that is `operations` from now. Any thread may call
  /// them.
  void cut() { has_power_ = false; }
  void cut_at(std::uint64_t operations) { left_ = static_cast<std::int64_t>(operations); }
  /// Any thread may call it.
  bool has_power() const { return has_power_; }
  /// Brings the power back. Unsynced bytes are lost in part if the power was cut; a cut that has
  /// not come yet is cancelled. No server may use the disk meanwhile.
  void restore();

  /// Does `operation`, or throws if the power is off. The operation in which the power fails may be
  /// done or not. Any thread that uses the disk calls it.
  void operate(const std::function<void()>& operation);
  void check_power() const;
  /// Returns how many of the `bytes` bytes of a write, from the front, survive the cut.
  std::size_t torn(std::size_t bytes) { return random_() % (bytes + 1); }

  std::mutex mutex;  ///< held while an operation uses the files
  log::SimulatedFiles files;

 private:
  std::mt19937_64 random_;
  std::atomic<bool> has_power_{true};
  std::atomic<std::int64_t> left_{INT64_MAX};
};

}  // namespace starling::stream
