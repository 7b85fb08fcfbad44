// SPDX-License-Identifier: Apache-2.0
// Reads a file of values, which has one number for each row of the points. Regression takes their
// mean. The file is an array in .npy, or a CSV file with one column. `starling knn --values` calls
// read_values().
#pragma once

#include <string>
#include <vector>

namespace starling::sim {

/// Reads all values as float64; the ending of `path` names the format. Throws InputError if the
/// file cannot be read or holds anything but finite numbers.
std::vector<double> read_values(const std::string& path);

}  // namespace starling::sim
