// SPDX-License-Identifier: Apache-2.0
// Counts what a long call has done, for the progress function of the call's thread. index.cpp uses
// it.
#pragma once

#include <cstdint>

#include "starling/knn/base/poll.hpp"

namespace starling::c {

/// The progress of one call. The Poll that poll() returns points to this object.
class Progress {
 public:
  /// `total` as in starling_progress.
  explicit Progress(std::uint64_t total) : total_(total) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Returns a Poll that calls this thread's progress function; empty if the thread has set none.
  /// The Poll throws FailureError with STARLING_CANCELLED if the function does not return 0.
  Poll poll();
  void set_done(std::uint64_t done) { done_ = done; }

 private:
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

}  // namespace starling::c
