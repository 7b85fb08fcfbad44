// How long quick multi-select takes alone, from a matrix that is on the device: for `starling bench
// selection`.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::gpu {

struct SelectionTiming {
  int device = 0;  ///< its CUDA number
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t k = 1;
  int runs = 20;  ///< each of a matrix of its own
};

/// Milliseconds of each run, by the device's clock. The numbers are random, in [0, 1), other ones
/// each run; the lists are poisoned before, and those of a few rows compared with a sort of the
/// row. Throws std::runtime_error if one is wrong, and as the device does.
std::vector<double> time_selection_ms(const SelectionTiming& timing);

/// Gigabytes that the device reads a second.
double measure_read_gb_per_s(int device);

}  // namespace starling::gpu
