// A way for tests to make ticks fail as a device would. Only tests name it; the engine asks it at
// each stage of a tick.
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::gpu {

struct FaultInjection {
  enum class Stage : std::uint8_t {
    none,
    before_rows,
    telling_host,  ///< of what the rows changed
    after_rows,
    after_search,
    device_lost,
  };
  std::atomic<Stage> stage{Stage::none};  ///< at which every tick fails until it is none
};

}  // namespace starling::gpu
