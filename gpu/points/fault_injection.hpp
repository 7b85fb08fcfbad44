// SPDX-License-Identifier: Apache-2.0
// Lets tests make ticks fail as they do when a device fails. Only tests set a stage; the engine
// checks it at each stage of a tick.
#pragma once

#include <atomic>
#include <cstdint>

namespace starling::gpu {

struct FaultInjection {
  enum class Stage : std::uint8_t {
    none,
    before_rows,
    telling_host,  ///< while the rows' change counts are stored to the host
    after_rows,
    after_search,
    device_lost,  ///< at the first check, as on a lost device
  };
  std::atomic<Stage> stage{Stage::none};  ///< every tick fails at this stage, unless none
};

}  // namespace starling::gpu
