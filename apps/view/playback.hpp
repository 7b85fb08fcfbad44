// SPDX-License-Identifier: Apache-2.0
// The clock of `starling view`: which moment of the recording is due. A thread replays the
// recording and waits for the clock; another thread pauses it, moves it, or changes its speed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace starling::apps {

/// Any thread may call any function. Times are microseconds of the recording since its first tick.
class Playback {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr double speed_min = 1.0 / 64;
  static constexpr double speed_max = 4096;

  /// `speed` is a multiple of real time, clamped to the range above.
  explicit Playback(double speed, Clock::time_point now = Clock::now());

  enum class Wake : std::uint8_t {
    due,   ///< the moment has come
    back,  ///< the clock was moved back; replay from the beginning
    stop,  ///< stop() was called
  };
  /// Waits until the clock has reached `at_us`. Within one pass, `at_us` must not decrease. If the
  /// pass is more than half a second late, moves the clock back to `at_us`.
  Wake wait_for(std::int64_t at_us);
  /// Returns true if the clock has already reached `next_us`, the next moment of the pass. The pass
  /// may then skip the moment before `next_us`.
  bool is_over(std::int64_t next_us);
  /// Returns `due`, or why the pass must end.
  Wake wake() const;
  /// Waits, at the end of the recording, until the clock is moved back or stopped.
  Wake wait_at_end();
  /// Begins a new pass, whose moments begin at 0 again. After this call, and after each move of the
  /// clock, the clock stands until the pass has reached it.
  void begin_pass();

  void pause(bool is_paused);
  void toggle_pause();
  bool is_paused() const;  ///< also true at the end
  void set_speed(double speed);
  double speed() const;
  /// Multiplies the speed, and returns the new one.
  double scale_speed(double factor);
  /// Moves the clock by `by_us`, but not before 0.
  void skip(std::int64_t by_us);
  /// Moves the clock to `at_us`, but not before 0.
  void seek(std::int64_t at_us);
  /// Moves the clock back to 0, and lets it run.
  void restart();
  void stop();

  std::int64_t position_us() const;

 private:
  std::int64_t position_us(Clock::time_point now) const;
  /// Sets the position without making the clock stand.
  void move_to(std::int64_t at_us, Clock::time_point now);
  /// Sets the position, and lets the clock stand until the pass has reached it.
  void jump_to(std::int64_t at_us, Clock::time_point now);
  bool is_pass_late(std::int64_t at_us, Clock::time_point now) const;
  Wake wake_now() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  double speed_;
  bool is_paused_ = false;
  bool is_stopped_ = false;
  bool is_at_end_ = false;      ///< wait_at_end() is running, and the clock stands
  bool is_ahead_ = true;        ///< the clock stands until the pass has reached it
  std::int64_t anchor_us_ = 0;  ///< the position at `anchor_`
  Clock::time_point anchor_;
  std::int64_t reached_us_ = 0;  ///< the last moment of this pass that was due
};

}  // namespace starling::apps
