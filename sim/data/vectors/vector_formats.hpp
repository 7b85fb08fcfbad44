// SPDX-License-Identifier: Apache-2.0
// This file defines the formats of vectors and labels, which are recognised by the ending of the
// file's name. open_vectors() and read_labels() use these functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "starling/sim/data/files/number_type.hpp"
#include "starling/sim/data/vectors/vector_file.hpp"

namespace starling::sim {

enum class ArrayFormat : std::uint8_t { npy, fvecs, bvecs, ivecs, csv };

/// Returns the format that the file's ending names: .npy, .fvecs, .bvecs or .ivecs. The endings
/// .csv, .tsv and .txt, also with .gz or .zst after them, mean csv. Throws InputError for any other
/// ending.
ArrayFormat array_format_of(const std::string& path);

/// Returns the type of the numbers in a file of the format `vecs`: .fvecs, .bvecs or .ivecs.
NumberType number_type_of(ArrayFormat vecs);

/// Returns `dimension`. Throws InputError if searchers do not support this dimension; the message
/// begins with `place`, followed by " vectors of ...".
std::uint32_t checked_dimension(std::uint64_t dimension, const std::string& place);

/// Returns `rows`. Throws InputError if `rows` exceeds vector_rows_max.
std::uint32_t checked_rows(std::uint64_t rows, const std::string& path);

std::unique_ptr<VectorFile> open_npy_vectors(const std::string& path);
std::unique_ptr<VectorFile> open_vecs_vectors(const std::string& path, ArrayFormat format);
std::unique_ptr<VectorFile> open_csv_vectors(const std::string& path);

}  // namespace starling::sim
