// SPDX-License-Identifier: Apache-2.0
// What `starling view` plays: a recorded trace or a server's log. View calls it, on one thread.
#pragma once

#include <cstdint>

#include "starling/apps/view/playback.hpp"
#include "starling/sim/host/server_host.hpp"
#include "starling/stream/operation/options.hpp"

namespace starling::apps {

/// Thrown out of a pass, because the clock was moved back or stopped.
struct PassEnds {
  Playback::Wake why;
};

class PlayedSource {
 public:
  virtual ~PlayedSource() = default;

  /// Sets the space, and the limits and times to live of objects and names.
  virtual void set_up(stream::ServerOptions& options) const = 0;

  /// Event times in microseconds since 1970.
  struct Span {
    std::int64_t begin_us = 0;  ///< tau of the first tick
    std::int64_t end_us = 0;    ///< tau of the last tick
  };
  /// Prepares to play from the beginning. Throws sim::InputError if there is nothing to play.
  virtual Span begin_pass() = 0;

  /// Plays each tick when the clock has reached it, up to the last one. Call it once for each
  /// begin_pass(). Throws PassEnds.
  virtual void play(sim::ServerHost& host, Playback& clock) = 0;

 protected:
  static void wait_for(Playback& clock, std::int64_t since_first_us) {
    const Playback::Wake wake = clock.wait_for(since_first_us);
    if (wake != Playback::Wake::due) throw PassEnds{wake};
  }
};

}  // namespace starling::apps
