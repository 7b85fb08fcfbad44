// SPDX-License-Identifier: Apache-2.0
// Times quick multi-select by itself, from a matrix on the device, for `starling bench selection`.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::gpu {

struct SelectionTiming {
  int device = 0;  ///< its CUDA number
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t k = 1;
  int runs = 20;  ///< each has a matrix of its own
};

/// Returns the milliseconds of each run by the device's clock. The numbers are random in [0, 1),
/// new ones for each run. The lists are overwritten before each run; after the last, those of a few
/// rows are compared with a sort of the row. Throws std::runtime_error if one is wrong, and what
/// the device throws.
std::vector<double> time_selection_ms(const SelectionTiming& timing);

/// The gigabytes that the device reads in a second.
double measure_read_gb_per_s(int device);

}  // namespace starling::gpu
