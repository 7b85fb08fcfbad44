// SPDX-License-Identifier: Apache-2.0
// Fuzzes the readers of vectors and labels. Each reader gets the input. A reader refuses an input
// that is not of its format.
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/npy_header.hpp"
#include "starling/sim/data/vectors/label_file.hpp"
#include "starling/sim/data/vectors/vector_formats.hpp"
#include "tests/fuzz/trace_input.hpp"

namespace starling::fuzz {
namespace {

std::string npy(std::string_view type, std::vector<std::uint64_t> shape, std::string_view data) {
  return sim::npy_header_text(type, shape).append(data);
}

/// Checks that reading throws only InputError, and that it returns as many rows as the file
/// declares.
void read_vectors(const MemoryFile& file, sim::ArrayFormat format) {
  try {
    const auto vectors = format == sim::ArrayFormat::npy ? sim::open_npy_vectors(file.path())
                         : format == sim::ArrayFormat::csv
                             ? sim::open_csv_vectors(file.path())
                             : sim::open_vecs_vectors(file.path(), format);
    const std::uint32_t dimension = vectors->dimension();
    check_invariant(dimension >= 1 && dimension <= dimension_max, "a dimension can be searched");
    std::uint64_t rows = 0;
    for (;;) {
      const VectorsView next = vectors->next(3);
      if (next.components.empty()) break;
      check_invariant(next.dimension == dimension && next.components.size() % dimension == 0 &&
                          next.rows() <= 3,
                      "rows are complete, and no more than requested");
      check_invariant(!vectors->place_of(next.rows() - 1, dimension - 1).empty(),
                      "every component has a place");
      rows += next.rows();
    }
    check_invariant(rows == vectors->row_count().value_or(static_cast<std::uint32_t>(rows)),
                    "every row is handed out");
    if (const auto all = vectors->in_place())
      check_invariant(all->rows() == rows, "all rows are in place");
  } catch (const sim::InputError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  }
}

void read_labels(const MemoryFile& file, sim::ArrayFormat format) {
  try {
    for (const Label label : sim::read_labels(file.path(), format))
      check_invariant(label != no_label, "a label is not no_label");
  } catch (const sim::InputError& error) {
    check_invariant(*error.what() != '\0', "an error says something");
  }
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string eight(8, 'x');
  return {
      npy("<f4", {2, 1}, eight),
      npy(">f8", {1, 1}, eight),
      npy("<f2", {2, 2}, eight),
      npy("<i8", {1}, eight),
      npy("|u1", {8, 1}, eight),
      std::string("\1\0\0\0\0\0\x80\x3f\1\0\0\0\0\0\0\0", 16),
      std::string("\1\0\0\0\7\1\0\0\0\7\1\0\0\0\7", 15),
      "x,y\n1,2\n3e5,-.5\n",
      "# points\r\n\"1\";+2\r\n\r\nnan;1e999",
      "class\n3\n-4\n",
  };
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  using starling::sim::ArrayFormat;
  const MemoryFile file(text_of(data, size));
  for (const ArrayFormat format : {ArrayFormat::npy, ArrayFormat::csv, ArrayFormat::fvecs,
                                   ArrayFormat::bvecs, ArrayFormat::ivecs}) {
    read_vectors(file, format);
    read_labels(file, format);
  }
  return 0;
}
