// SPDX-License-Identifier: Apache-2.0
// Reads files of vectors row by row. Files in .npy, .fvecs, .bvecs and .ivecs are mapped into
// memory; .csv is read as a stream. docs/vectors.md says what each format may hold. `starling knn`
// uses open_vectors().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "starling/knn/words/metric.hpp"

namespace starling::sim {

class VectorFile {
 public:
  virtual ~VectorFile() = default;
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint32_t dimension() const { return dimension_; }

  /// Returns the number of rows, or std::nullopt if the number is unknown until the whole file is
  /// read.
  virtual std::optional<std::uint32_t> row_count() const = 0;

  /// Returns the next rows, at most `rows_max`, or an empty view at the end of the file. The view
  /// is valid until the next call. Throws InputError.
  virtual VectorsView next(std::uint32_t rows_max) = 0;

  /// Returns the rows of the last next() in float64; empty if float32 holds all numbers of the
  /// file's type. The span is valid until the next call of next().
  virtual std::span<const double> exact_rows() const { return {}; }

  /// Returns a view of all rows in the mapped file if they are aligned, dense and float32, as
  /// prepare_vectors() needs them; otherwise std::nullopt. The view is valid while this object
  /// lives.
  virtual std::optional<VectorsView> in_place() const { return std::nullopt; }

  /// Returns the place of a component in the file, worded as the beginning of an error message:
  /// "FILE: row 3, column 0 (counted from 0)" or "FILE:4:1: the component". `row` counts from 0
  /// within the rows that the last next() returned.
  virtual std::string place_of(VectorRow row, std::uint32_t column) const = 0;

 protected:
  explicit VectorFile(std::string path) : path_(std::move(path)) {}
  void set_dimension(std::uint32_t dimension) { dimension_ = dimension; }

 private:
  std::string path_;
  std::uint32_t dimension_ = 1;
};

/// Opens a file whose ending names the format, and reads its dimension. Throws InputError if the
/// file cannot be read or holds anything but vectors.
std::unique_ptr<VectorFile> open_vectors(const std::string& path);

}  // namespace starling::sim
