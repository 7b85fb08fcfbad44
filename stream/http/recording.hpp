// SPDX-License-Identifier: Apache-2.0
// A server that plays a recording, as `starling view` does, gives the HTTP endpoint this interface.
// /v1/playback shows and changes it.
#pragma once

#include <cstdint>
#include <optional>

namespace starling::stream {

/// All times are event times, in microseconds since the epoch.
struct PlaybackState {
  std::int64_t time_us = 0;   ///< the moment that is due now
  std::int64_t begin_us = 0;  ///< tau of the first tick
  std::int64_t end_us = 0;    ///< tau of the last tick
  double speed = 1;           ///< a multiple of real time
  bool is_paused = false;
};

/// What is absent stays.
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
  /// Brings a time or a speed into its range. If the time is moved back, the server ends, and
  /// another one begins at the same address.
  virtual void change(const PlaybackChange& change) = 0;
};

}  // namespace starling::stream
