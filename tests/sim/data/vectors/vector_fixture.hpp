// SPDX-License-Identifier: Apache-2.0
// Reads a file of vectors for a test, a few rows at a time, until the file ends or an error occurs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/vectors/vector_file.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {

struct ReadVectors {
  std::vector<float> components;
  std::uint32_t dimension = 0;
  std::optional<std::uint32_t> row_count;
  bool in_place = false;
};

inline ReadVectors read_vectors(std::string_view name, std::string_view bytes,
                                std::uint32_t rows_max = 2) {
  const TemporaryDirectory directory;
  const auto file = open_vectors(directory.write(name, bytes));
  ReadVectors read{{}, file->dimension(), file->row_count(), file->in_place().has_value()};
  for (;;) {
    const VectorsView rows = file->next(rows_max);
    if (rows.components.empty()) break;
    EXPECT_LE(rows.rows(), rows_max);
    EXPECT_EQ(rows.dimension, read.dimension);
    read.components.insert(read.components.end(), rows.components.begin(), rows.components.end());
  }
  EXPECT_EQ(read.components.size() % read.dimension, 0u);
  const std::size_t rows_read = read.components.size() / read.dimension;
  EXPECT_EQ(rows_read, read.row_count.value_or(rows_read));
  return read;
}

/// Returns the error message without the path of the directory, or an empty text if there is no
/// error.
inline std::string vector_error(std::string_view name, std::string_view bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.write(name, bytes);
  try {
    const auto file = open_vectors(path);
    while (!file->next(2).components.empty()) {
    }
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(path));
    return std::string(error.what()).substr(path.size() - name.size());
  }
  return {};
}

}  // namespace starling::sim
