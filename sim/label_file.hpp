// The labels that votes count, one a row of the points: an integer array of .npy, .ivecs or a CSV
// file of one column.
#pragma once

#include <string>
#include <vector>

#include "knn/vote.hpp"

namespace starling::sim {

/// Throws TraceError with a sentence on what is not read.
std::vector<Label> read_labels(const std::string& path);

}  // namespace starling::sim
