// SPDX-License-Identifier: Apache-2.0
// Reads vectors from a mapped .npy, .fvecs, .bvecs or .ivecs file. Dense float32 rows are used in
// place; all others are copied and converted when they are read.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/mapped_file.hpp"
#include "starling/sim/data/files/npy_header.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t vecs_dimension_bytes = 4;

/// Component j of row i lies at first_byte + i * row_stride_bytes + j * column_stride_bytes.
struct ArrayLayout {
  NumberType type;
  std::size_t first_byte = 0;
  std::size_t row_stride_bytes = 0;
  std::size_t column_stride_bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t dimension = 1;
};

std::int64_t read_int32(const std::byte* at) {
  return *read_integer(number_type_of(ArrayFormat::ivecs), at);
}

class MappedVectors : public VectorFile {
 public:
  MappedVectors(std::unique_ptr<MappedFile> file, const ArrayLayout& layout)
      : VectorFile(file->path()), file_(std::move(file)), layout_(layout) {
    set_dimension(layout.dimension);
  }

  std::optional<std::uint32_t> row_count() const override { return layout_.rows; }

  VectorsView next(std::uint32_t rows_max) override {
    first_row_ = next_row_;
    const std::uint32_t rows = std::min(rows_max, layout_.rows - next_row_);
    next_row_ += rows;
    if (const auto all = in_place())
      return {all->components.subspan(std::size_t{first_row_} * dimension(),
                                      std::size_t{rows} * dimension()),
              dimension()};
    components_.resize(std::size_t{rows} * dimension());
    exact_.resize(fits_float32(layout_.type) ? 0 : components_.size());
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::size_t first = std::size_t{row} * dimension();
      read_row(first_row_ + row, std::span(components_).subspan(first, dimension()));
      if (!exact_.empty())
        read_numbers(layout_.type, row_bytes(first_row_ + row), layout_.column_stride_bytes,
                     std::span(exact_).subspan(first, dimension()));
    }
    return {components_, dimension()};
  }

  std::span<const double> exact_rows() const override { return exact_; }

  std::optional<VectorsView> in_place() const override {
    const std::byte* const first = file_->bytes().data() + layout_.first_byte;
    const bool is_aligned = std::bit_cast<std::uintptr_t>(first) % alignof(float) == 0;
    const bool is_float32 = layout_.type == NumberType{NumberType::Kind::floating, 4,
                                                       std::endian::native == std::endian::big};
    const bool is_dense = layout_.column_stride_bytes == sizeof(float) &&
                          layout_.row_stride_bytes == sizeof(float) * dimension();
    if (!is_aligned || !is_float32 || !is_dense) return std::nullopt;
    const std::size_t count = std::size_t{layout_.rows} * dimension();
    const void* const components = first;
    return VectorsView{{static_cast<const float*>(components), count}, dimension()};
  }

  std::string place_of(VectorRow row, std::uint32_t column) const override {
    return path() + ": row " + std::to_string(first_row_ + row) + ", column " +
           std::to_string(column) + " (counted from 0)";
  }

 protected:
  virtual void read_row(std::uint32_t row, std::span<float> components) const {
    read_components(layout_.type, row_bytes(row), layout_.column_stride_bytes, components);
  }

  const std::byte* row_bytes(std::uint32_t row) const {
    return file_->bytes().data() + layout_.first_byte + row * layout_.row_stride_bytes;
  }

 private:
  std::unique_ptr<MappedFile> file_;
  ArrayLayout layout_;
  std::uint32_t first_row_ = 0;
  std::uint32_t next_row_ = 0;
  std::vector<float> components_;
  std::vector<double> exact_;
};

/// Reads .fvecs, .bvecs and .ivecs. Each row begins with its dimension, which must be the same in
/// all rows.
class VecsVectors : public MappedVectors {
 public:
  using MappedVectors::MappedVectors;

 protected:
  void read_row(std::uint32_t row, std::span<float> components) const override {
    const std::int64_t told = read_int32(row_bytes(row) - vecs_dimension_bytes);
    if (told != dimension())
      throw InputError(path() + ": row " + std::to_string(row) + " (counted from 0) has " +
                       std::to_string(told) + " components, but row 0 has " +
                       std::to_string(dimension()) + "; all rows need the same number");
    MappedVectors::read_row(row, components);
  }
};

}  // namespace

std::unique_ptr<VectorFile> open_npy_vectors(const std::string& path) {
  auto file = std::make_unique<MappedFile>(path);
  const NpyHeader header = parse_npy_header(file->bytes(), path);
  if (header.shape.size() != 2)
    throw InputError(path + ": the array has " + std::to_string(header.shape.size()) +
                     (header.shape.size() == 1 ? " axis" : " axes") +
                     "; vectors need two, (rows, components). NumPy's reshape(-1, 1) makes each "
                     "number a row, reshape(1, -1) makes all numbers one row");
  ArrayLayout layout;
  layout.type = header.type;
  layout.first_byte = header.size_bytes;
  layout.dimension = checked_dimension(header.shape[1], path + ": the file has");
  layout.rows = checked_rows(header.shape[0], path);
  const std::size_t number_bytes = header.type.bytes;
  // With a single row or column, row-major and column-major order are the same.
  const bool goes_by_columns = header.is_fortran_order && layout.rows > 1 && layout.dimension > 1;
  layout.row_stride_bytes = number_bytes * (goes_by_columns ? 1 : layout.dimension);
  layout.column_stride_bytes = number_bytes * (goes_by_columns ? layout.rows : 1);
  return std::make_unique<MappedVectors>(std::move(file), layout);
}

std::unique_ptr<VectorFile> open_vecs_vectors(const std::string& path, ArrayFormat format) {
  auto file = std::make_unique<MappedFile>(path);
  const std::size_t size = file->bytes().size();
  if (size == 0)
    throw InputError(path + ": the file is empty, so the dimension of its vectors is unknown");
  if (size < vecs_dimension_bytes)
    throw InputError(path + ": the file is truncated: the first row's dimension takes 4 bytes");
  const std::int64_t dimension = read_int32(file->bytes().data());
  if (dimension < 0)
    throw InputError(path + ": the first row has a dimension of " + std::to_string(dimension) +
                     "; does the file have another format?");
  ArrayLayout layout;
  layout.type = number_type_of(format);
  layout.first_byte = vecs_dimension_bytes;
  layout.dimension =
      checked_dimension(static_cast<std::uint64_t>(dimension), path + ": the file has");
  layout.column_stride_bytes = layout.type.bytes;
  layout.row_stride_bytes =
      vecs_dimension_bytes + std::size_t{layout.type.bytes} * layout.dimension;
  if (size % layout.row_stride_bytes != 0)
    throw InputError(path + ": the file is truncated or its rows differ in dimension: it has " +
                     std::to_string(size) + " bytes, which is not a multiple of the first row's " +
                     std::to_string(layout.row_stride_bytes));
  layout.rows = checked_rows(size / layout.row_stride_bytes, path);
  return std::make_unique<VecsVectors>(std::move(file), layout);
}

}  // namespace starling::sim
