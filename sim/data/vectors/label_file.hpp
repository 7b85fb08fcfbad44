// SPDX-License-Identifier: Apache-2.0
// Reads a file of labels, which has one label for each row of the points. The votes count these
// labels. The file is an integer array in .npy, an .ivecs file whose rows have one integer each, or
// a CSV file with one column. `starling knn --labels` calls read_labels().
#pragma once

#include <string>
#include <vector>

#include "starling/knn/vectors/vote.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"

namespace starling::sim {

/// Reads all labels; the ending of `path` names the format. Throws InputError if the file cannot be
/// read or holds anything but labels.
std::vector<Label> read_labels(const std::string& path);

/// The same as above, for a file of the given format.
std::vector<Label> read_labels(const std::string& path, ArrayFormat format);

}  // namespace starling::sim
