// The kinds of files that hold vectors or labels, by their names' endings; what open_vectors and
// read_labels choose from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/files/number_type.hpp"
#include "sim/vectors/vector_file.hpp"

namespace starling::sim {

enum class ArrayFormat : std::uint8_t { npy, fvecs, bvecs, ivecs, csv };

/// .npy, .fvecs, .bvecs, .ivecs; .csv, .tsv and .txt, compressed or not. Throws TraceError on
/// others.
ArrayFormat array_format_of(const std::string& path);

/// Of the numbers in a row of .fvecs, .bvecs or .ivecs.
NumberType number_type_of(ArrayFormat vecs);

/// Throws TraceError with `place`, which begins a sentence, if the dimension is not one that
/// searchers take.
std::uint32_t checked_dimension(std::uint64_t dimension, const std::string& place);

/// Throws TraceError if the file has more rows than are told apart.
std::uint32_t checked_rows(std::uint64_t rows, const std::string& path);

std::unique_ptr<VectorFile> open_npy_vectors(const std::string& path);
std::unique_ptr<VectorFile> open_vecs_vectors(const std::string& path, ArrayFormat format);
std::unique_ptr<VectorFile> open_csv_vectors(const std::string& path);

}  // namespace starling::sim
