// Chooses the GPU as --engine cuda does, and has gpu/vectors/selection_timing.hpp measure on it:
// see selection_timer.hpp. Called by apps/bench.cpp.
#include "apps/shared/selection_timer.hpp"

#include <stdexcept>
#include <string>

#include "apps/shared/engine_choice.hpp"
#ifdef STARLING_CUDA
#include "gpu/vectors/selection_timing.hpp"
#endif

namespace starling::apps {

void set_selection_timer(int device, bench::SelectionTableOptions& options) {
  EngineFlags flags;
  flags.engine = "cuda";
  flags.device = device;
  options.engine_name = "cuda " + choose_engine(flags).why;
#ifdef STARLING_CUDA
  options.read_gb_per_s = gpu::measure_read_gb_per_s(device);
  options.time_ms = [device](std::uint32_t rows, std::uint32_t columns, std::uint32_t k, int runs) {
    return gpu::time_selection_ms(
        {.device = device, .rows = rows, .columns = columns, .k = k, .runs = runs});
  };
#endif
}

}  // namespace starling::apps
