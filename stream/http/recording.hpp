// SPDX-License-Identifier: Apache-2.0
// The interface of a recording that a server plays, as `starling view` does. The routes of
// /v1/playback show and change its time, speed and pause.
#pragma once

#include <cstdint>
#include <optional>

namespace starling::stream {

/// All times are event times, in microseconds since the epoch.
struct PlaybackState {
  std::int64_t time_us = 0;   ///< time in the recording that is due now
  std::int64_t begin_us = 0;  ///< tau of the first tick
  std::int64_t end_us = 0;    ///< tau of the last tick
  double speed = 1;           ///< a multiple of real time
  bool is_paused = false;
};

/// An absent member leaves its value as it is.
struct PlaybackChange {
  std::optional<std::int64_t> time_us{};
  std::optional<double> speed{};
  std::optional<bool> is_paused{};
};

/// Any thread may call the functions.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual PlaybackState state() const = 0;
  /// Clamps the time and the speed to their ranges. If the time is moved back, the server ends, and
  /// a new server begins at the same address.
  virtual void change(const PlaybackChange& change) = 0;
};

}  // namespace starling::stream
