// SPDX-License-Identifier: Apache-2.0
// Checks the endings and limits of the formats: see vector_file.hpp and vector_formats.hpp.
#include "starling/sim/data/vectors/vector_file.hpp"

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"

namespace starling::sim {

ArrayFormat array_format_of(const std::string& path) {
  const std::string_view name = path;
  if (name.ends_with(".npy")) return ArrayFormat::npy;
  if (name.ends_with(".fvecs")) return ArrayFormat::fvecs;
  if (name.ends_with(".bvecs")) return ArrayFormat::bvecs;
  if (name.ends_with(".ivecs")) return ArrayFormat::ivecs;
  std::string_view text_name = name;
  for (const std::string_view ending : {".gz", ".zst"})
    if (text_name.ends_with(ending)) text_name.remove_suffix(ending.size());
  for (const std::string_view ending : {".csv", ".tsv", ".txt"})
    if (text_name.ends_with(ending)) return ArrayFormat::csv;
  throw InputError(
      path +
      ": the file's ending names no known format; .npy, .fvecs, .bvecs, .ivecs and .csv are read, "
      "the last also as .csv.gz or .csv.zst");
}

NumberType number_type_of(ArrayFormat vecs) {
  using Kind = NumberType::Kind;
  if (vecs == ArrayFormat::bvecs) return {Kind::unsigned_integer, 1, false};
  return {vecs == ArrayFormat::ivecs ? Kind::signed_integer : Kind::floating, 4, false};
}

std::uint32_t checked_dimension(std::uint64_t dimension, const std::string& place) {
  if (dimension == 0) throw InputError(place + " vectors of 0 components; at least 1 is needed");
  if (dimension > dimension_max)
    throw InputError(place + " vectors of " + std::to_string(dimension) + " components; at most " +
                     std::to_string(dimension_max) + " are allowed, so project them to fewer");
  return static_cast<std::uint32_t>(dimension);
}

std::uint32_t checked_rows(std::uint64_t rows, const std::string& path) {
  if (rows > vector_rows_max)
    throw InputError(path + ": the file has " + std::to_string(rows) + " rows; at most " +
                     std::to_string(vector_rows_max) + " are allowed, so split the file");
  return static_cast<std::uint32_t>(rows);
}

std::unique_ptr<VectorFile> open_vectors(const std::string& path) {
  const ArrayFormat format = array_format_of(path);
  if (format == ArrayFormat::csv) return open_csv_vectors(path);
  return format == ArrayFormat::npy ? open_npy_vectors(path) : open_vecs_vectors(path, format);
}

}  // namespace starling::sim
