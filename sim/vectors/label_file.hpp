// The labels that votes count, one a row of the points: an integer array of .npy, .ivecs or a CSV
// file of one column.
#pragma once

#include <string>
#include <vector>

#include "knn/vectors/vote.hpp"
#include "sim/vectors/vector_formats.hpp"

namespace starling::sim {

/// Tells the format by the name's ending. Throws TraceError with a sentence on what is not read.
std::vector<Label> read_labels(const std::string& path);

std::vector<Label> read_labels(const std::string& path, ArrayFormat format);

}  // namespace starling::sim
