// SPDX-License-Identifier: Apache-2.0
// Lets tests make ticks fail as they would fail on a broken device. Only tests set `stage`. The
// engine checks `stage` several times in each tick.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace starling::gpu {

struct FaultInjection {
  enum class Stage : std::uint8_t {
    none,
    copying_ahead,  ///< rows are copied before their tick begins
    copying,        ///< rows are copied after their tick begins, on the copy thread
    before_rows,
    telling_host,  ///< the rows' change counts are about to be stored to the host
    after_rows,
    after_search,
    device_lost,  ///< ticks fail at the first check, and the engine is lost
  };
  std::atomic<Stage> stage{Stage::none};  ///< every tick that reaches this stage fails there

  void fail_if_asked(Stage reached) const {
    if (stage == reached) throw std::runtime_error("the GPU was made to fail; it will work again");
  }
};

}  // namespace starling::gpu
