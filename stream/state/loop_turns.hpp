// SPDX-License-Identifier: Apache-2.0
// Measures how long each turn of the loop holds it. A turn runs one handler: of a request, a timer
// or a result. Server ends a turn after each handler and passes the time to Metrics.
#pragma once

#include <cstdint>
#include <ctime>

namespace starling::stream {

inline std::int64_t cpu_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
/// Returns the processor time of the calling thread. It does not grow while the thread waits or is
/// preempted.
inline std::int64_t thread_cpu_ns() {
  return cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}
/// Returns the processor time of the whole process.
inline std::int64_t process_cpu_ns() {
  return cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/// The time of a turn is the loop's processor time plus the time for which the loop has waited for
/// the thread beside it. Time in which the loop has nothing to do, or in which other programs run,
/// does not count. A turn costs one read of a clock.
class LoopTurns {
 public:
  /// Call begin() on the loop's thread, before the first turn.
  void begin() { ended_ns_ = thread_cpu_ns(); }
  /// Ends a turn. `waited_us` is how long the loop has waited so far, over all turns. Returns the
  /// turn's time in nanoseconds.
  std::int64_t end(std::int64_t waited_us) {
    const std::int64_t now_ns = thread_cpu_ns();
    const std::int64_t turn_ns = now_ns - ended_ns_ + (waited_us - waited_us_) * 1000;
    ended_ns_ = now_ns;
    waited_us_ = waited_us;
    return turn_ns;
  }

 private:
  std::int64_t ended_ns_ = 0;
  std::int64_t waited_us_ = 0;
};

}  // namespace starling::stream
