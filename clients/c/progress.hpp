// SPDX-License-Identifier: Apache-2.0
// Follows a long call for the progress function that its thread has set. Functions of index.cpp use
// it.
#pragma once

#include <cstdint>

#include "starling/knn/base/poll.hpp"

namespace starling::c {

/// What one call has done. `poll` points to it.
class Progress {
 public:
  /// `total` as in starling_progress.
  explicit Progress(std::uint64_t total) : total_(total) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Calls the progress function; empty if this thread has set none. Throws FailureError with
  /// STARLING_CANCELLED if the function returns not 0.
  Poll poll();
  void set_done(std::uint64_t done) { done_ = done; }

 private:
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

}  // namespace starling::c
