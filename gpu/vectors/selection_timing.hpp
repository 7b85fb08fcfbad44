// SPDX-License-Identifier: Apache-2.0
// Times quick multi-select alone, on a matrix in device memory. The command `starling bench
// selection` calls it.
#pragma once

#include <cstdint>
#include <vector>

namespace starling::gpu {

struct SelectionTiming {
  int device = 0;  ///< CUDA device number
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t k = 1;
  int runs = 20;  ///< each run has its own matrix
};

/// Returns the milliseconds of each run by the device's clock. The matrix holds random numbers in
/// [0, 1), new ones for each run. The lists are overwritten before each run. After the last run,
/// the lists of a few rows are compared with the sorted rows. Throws std::runtime_error if one of
/// these lists is wrong. If the device fails, throws the same errors as DeviceMemory.
std::vector<double> time_selection_ms(const SelectionTiming& timing);

/// Returns the rate at which the device reads its memory, in gigabytes a second.
double measure_read_gb_per_s(int device);

}  // namespace starling::gpu
