// SPDX-License-Identifier: Apache-2.0
// Counts the position from an anchor, which moves whenever the speed changes: see playback.hpp.
#include "starling/apps/view/playback.hpp"

#include <algorithm>
#include <utility>

namespace starling::apps {

Playback::Playback(double speed, Clock::time_point now)
    : speed_(std::clamp(speed, speed_min, speed_max)), anchor_(now) {}

Playback::Wake Playback::wake_now() const {
  if (is_stopped_) return Wake::stop;
  return position_us(Clock::now()) < reached_us_ ? Wake::back : Wake::due;
}

Playback::Wake Playback::wait_for(std::int64_t at_us) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const Clock::time_point now = Clock::now();
    const Wake wake = wake_now();
    if (wake != Wake::due) return wake;
    if (is_pass_late(at_us, now)) move_to(at_us, now);
    const std::int64_t left_us = at_us - position_us(now);
    if (left_us > 0 && std::exchange(is_ahead_, false)) anchor_ = now;
    if (left_us <= 0) {
      reached_us_ = at_us;
      return Wake::due;
    }
    if (is_paused_)
      changed_.wait(lock);
    else
      changed_.wait_until(
          lock, now + std::chrono::microseconds(
                          static_cast<std::int64_t>(static_cast<double>(left_us) / speed_) + 1));
  }
}

/// Returns true if the clock passed `at_us` more than half a second of wall-clock time ago. A pass
/// that has yet to reach a clock that was moved ahead is not late.
bool Playback::is_pass_late(std::int64_t at_us, Clock::time_point now) const {
  constexpr double late_us = 500'000;
  return !is_ahead_ && static_cast<double>(position_us(now) - at_us) > late_us * speed_;
}

bool Playback::is_over(std::int64_t next_us) {
  const std::lock_guard lock(mutex_);
  if (position_us(Clock::now()) < next_us) return false;
  reached_us_ = next_us;
  return true;
}

Playback::Wake Playback::wait_at_end() {
  std::unique_lock lock(mutex_);
  // The clock does not run past the end. It may have been moved back already.
  const Clock::time_point now = Clock::now();
  move_to(std::min(position_us(now), reached_us_), now);
  is_ahead_ = false;
  is_at_end_ = true;
  changed_.wait(lock, [this] { return wake_now() != Wake::due; });
  move_to(position_us(Clock::now()), Clock::now());
  is_at_end_ = false;
  return wake_now();
}

void Playback::begin_pass() {
  const std::lock_guard lock(mutex_);
  reached_us_ = 0;
  const Clock::time_point now = Clock::now();
  jump_to(position_us(now), now);
}

Playback::Wake Playback::wake() const {
  const std::lock_guard lock(mutex_);
  return wake_now();
}

void Playback::pause(bool is_paused) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  move_to(position_us(now), now);
  is_paused_ = is_paused;
  changed_.notify_all();
}

void Playback::toggle_pause() {
  pause(!is_paused());
}

bool Playback::is_paused() const {
  const std::lock_guard lock(mutex_);
  return is_paused_ || is_at_end_;
}

void Playback::set_speed(double speed) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  move_to(position_us(now), now);
  speed_ = std::clamp(speed, speed_min, speed_max);
  changed_.notify_all();
}

double Playback::speed() const {
  const std::lock_guard lock(mutex_);
  return speed_;
}

double Playback::scale_speed(double factor) {
  set_speed(speed() * factor);
  return speed();
}

void Playback::seek(std::int64_t at_us) {
  const std::lock_guard lock(mutex_);
  jump_to(std::max<std::int64_t>(at_us, 0), Clock::now());
  changed_.notify_all();
}

void Playback::skip(std::int64_t by_us) {
  seek(position_us() + by_us);
}

void Playback::restart() {
  const std::lock_guard lock(mutex_);
  jump_to(0, Clock::now());
  is_paused_ = false;
  changed_.notify_all();
}

void Playback::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

std::int64_t Playback::position_us() const {
  const std::lock_guard lock(mutex_);
  return position_us(Clock::now());
}

std::int64_t Playback::position_us(Clock::time_point now) const {
  if (is_paused_ || is_at_end_ || is_ahead_) return anchor_us_;
  const std::chrono::duration<double, std::micro> since = now - anchor_;
  return anchor_us_ + static_cast<std::int64_t>(since.count() * speed_);
}

void Playback::move_to(std::int64_t at_us, Clock::time_point now) {
  anchor_us_ = at_us;
  anchor_ = now;
}

void Playback::jump_to(std::int64_t at_us, Clock::time_point now) {
  move_to(at_us, now);
  is_ahead_ = true;
}

}  // namespace starling::apps
