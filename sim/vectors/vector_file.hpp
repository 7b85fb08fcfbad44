// Files of vectors, row after row: .npy, .fvecs, .bvecs and .ivecs, which are mapped into memory,
// and .csv, which is read as it comes. What each is read as and refused for: docs/vectors.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "knn/words/metric.hpp"

namespace starling::sim {

class VectorFile {
 public:
  virtual ~VectorFile() = default;
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint32_t dimension() const { return dimension_; }

  /// Nothing where rows are counted only as they are read.
  virtual std::optional<std::uint32_t> row_count() const = 0;

  /// The next rows, at most `rows_max` of them and none at the end, valid until the next call.
  /// Throws TraceError.
  virtual VectorsView next(std::uint32_t rows_max) = 0;

  /// All rows where they lie, for as long as this lives, if they lie there as prepare_vectors wants
  /// them.
  virtual std::optional<VectorsView> in_place() const { return std::nullopt; }

  /// The place of a component of the rows that next() handed out last, by its row among them: as
  /// "FILE: row 3, column 0 (counted from 0)" or "FILE:4:1: the number".
  virtual std::string place_of(VectorRow row, std::uint32_t column) const = 0;

 protected:
  explicit VectorFile(std::string path) : path_(std::move(path)) {}
  void set_dimension(std::uint32_t dimension) { dimension_ = dimension; }

 private:
  std::string path_;
  std::uint32_t dimension_ = 1;
};

/// Tells the format by the name's ending and reads as far as the dimension. Throws TraceError with
/// a sentence on what is not read.
std::unique_ptr<VectorFile> open_vectors(const std::string& path);

}  // namespace starling::sim
