// SPDX-License-Identifier: Apache-2.0
// Reads the processor time of threads from the operating system: see duty_cycle.hpp.
#include "tests/stream/soak/duty_cycle.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

namespace starling::stream {
namespace {

double seconds_of(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// Returns the clock of a thread of this process, as pthread_getcpuclockid() makes it.
clockid_t clock_of(pid_t thread) {
  constexpr unsigned thread_clock = 6;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U | thread_clock);
}

}  // namespace

void DutyCycle::count_threads(std::string_view prefix) {
  for (const auto& folder : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(folder.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name.starts_with(prefix))
      threads_.push_back(std::stoi(folder.path().filename()));
  }
}

void DutyCycle::rest() const {
  double used_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (const pid_t thread : threads_) used_s += seconds_of(clock_of(thread));
  const double passed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  const double early_s = used_s / cores_ - passed_s;
  if (early_s > 0.002) std::this_thread::sleep_for(std::chrono::duration<double>(early_s));
}

}  // namespace starling::stream
