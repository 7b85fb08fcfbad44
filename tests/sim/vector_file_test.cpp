// Every format that vectors are read from, and a sentence for everything that is not.
#include "sim/vector_file.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "tests/sim/trace_fixture.hpp"
#include "tests/sim/vector_bytes.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ReadVectors {
  std::vector<float> components;
  std::uint32_t dimension = 0;
  std::optional<std::uint32_t> row_count;
  bool in_place = false;
};

ReadVectors read_vectors(std::string_view name, std::string_view bytes,
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

/// The sentence behind the file's directory.
std::string error_of(std::string_view name, std::string_view bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.write(name, bytes);
  try {
    const auto file = open_vectors(path);
    while (!file->next(2).components.empty()) {
    }
  } catch (const TraceError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    return std::string(error.what()).substr(path.size() - name.size());
  }
  return {};
}

const std::string six_floats = bytes_of<float>({1, 2, 3, 4, 5, 6});

TEST(NpyVectors, Float32LiesInPlace) {
  const ReadVectors read = read_vectors("a.npy", npy("<f4", "(3, 2)", six_floats));
  EXPECT_THAT(read.components, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(read.dimension, 2u);
  EXPECT_EQ(read.row_count, 3u);
  EXPECT_TRUE(read.in_place);
}

TEST(NpyVectors, FortranOrderIsCopiedIntoRows) {
  const ReadVectors read = read_vectors("a.npy", npy("<f4", "(3, 2)", six_floats, "True"));
  EXPECT_THAT(read.components, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_FALSE(read.in_place);
}

TEST(NpyVectors, OneColumnOrRowLiesInPlaceInEitherOrder) {
  EXPECT_TRUE(read_vectors("a.npy", npy("<f4", "(6, 1)", six_floats, "True")).in_place);
  EXPECT_THAT(read_vectors("a.npy", npy("<f4", "(1, 6)", six_floats, "True")).components,
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyVectors, AnOddHeaderIsReadByCopying) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}";
  for (std::size_t padding = 0; padding < 4; ++padding) {
    const ReadVectors read =
        read_vectors("a.npy", npy_start(header + std::string(padding, ' ')) + six_floats);
    EXPECT_THAT(read.components, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(read.in_place, (10 + header.size() + padding) % 4 == 0);
  }
}

TEST(NpyVectors, VersionsTwoAndThreeHaveLongerHeaders) {
  const std::string header = "{\"shape\":(3L,2L,),\"fortran_order\":False,\"descr\":\"<f4\"}\n";
  for (const char version : {'\2', '\3'})
    EXPECT_THAT(read_vectors("a.npy", npy_start(header, version) + six_floats).components,
                ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyVectors, EveryIntegerTypeBecomesFloat32) {
  EXPECT_THAT(read_vectors("a.npy", npy("|u1", "(1, 2)", "\x80\xFF")).components,
              ElementsAre(128, 255));
  EXPECT_THAT(read_vectors("a.npy", npy("|i1", "(1, 2)", "\x80\x7F")).components,
              ElementsAre(-128, 127));
  EXPECT_THAT(
      read_vectors("a.npy", npy("<i2", "(1, 2)", bytes_of<std::int16_t>({-3, 9}))).components,
      ElementsAre(-3, 9));
  EXPECT_THAT(
      read_vectors("a.npy", npy("<u4", "(1, 1)", bytes_of<std::uint32_t>({1u << 31}))).components,
      ElementsAre(0x1p31f));
  EXPECT_THAT(
      read_vectors("a.npy", npy("<i8", "(1, 2)", bytes_of<std::int64_t>({-1, (1 << 24) + 1})))
          .components,
      ElementsAre(-1, 0x1p24f));
  EXPECT_THAT(
      read_vectors("a.npy", npy("<u8", "(1, 1)", bytes_of<std::uint64_t>({~0ull}))).components,
      ElementsAre(0x1p64f));
}

TEST(NpyVectors, BytesInTheOtherOrderAreTurned) {
  EXPECT_THAT(
      read_vectors("a.npy", npy(">f4", "(1, 1)", std::string_view("\x3F\x80\0\0", 4))).components,
      ElementsAre(1));
  EXPECT_THAT(read_vectors("a.npy", npy(">i2", "(1, 2)", std::string_view("\x01\x02\xFF\xFF", 4)))
                  .components,
              ElementsAre(258, -1));
  EXPECT_THAT(read_vectors("a.npy", npy(">f8", "(1, 1)", std::string_view("\xC0\0\0\0\0\0\0\0", 8)))
                  .components,
              ElementsAre(-2));
}

TEST(NpyVectors, Float64IsRoundedOnceAndStaysFinite) {
  const double between = 1 + 0x1p-24 + 0x1p-50;
  const auto read = read_vectors(
      "a.npy", npy("<f8", "(1, 5)", bytes_of<double>({between, 0x1p-149, 1e300, -1e39, 1e-300})));
  constexpr float largest = std::numeric_limits<float>::max();
  EXPECT_THAT(read.components, ElementsAre(1 + 0x1p-23f, 0x1p-149f, largest, -largest, 0));
}

TEST(NpyVectors, NotANumberAndInfinityStayWhatTheyAre) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto read = read_vectors(
      "a.npy", npy("<f8", "(1, 3)", bytes_of<double>({infinity, -infinity, std::nan("")})));
  EXPECT_EQ(read.components[0], infinity);
  EXPECT_EQ(read.components[1], -infinity);
  EXPECT_TRUE(std::isnan(read.components[2]));
}

TEST(NpyVectors, Float16IsExact) {
  const auto read = read_vectors(
      "a.npy",
      npy("<f2", "(1, 7)",
          bytes_of<std::uint16_t>({0x3C00, 0xC500, 0x0001, 0x8000, 0x7BFF, 0x7C00, 0x0400})));
  EXPECT_THAT(read.components, ElementsAre(1, -5, 0x1p-24f, 0, 65504,
                                           std::numeric_limits<float>::infinity(), 0x1p-14f));
  EXPECT_TRUE(std::signbit(read.components[3]));
}

TEST(NpyVectors, NoRowsAreAFileToo) {
  const ReadVectors read = read_vectors("a.npy", npy("<f4", "(0, 7)", ""));
  EXPECT_EQ(read.row_count, 0u);
  EXPECT_EQ(read.dimension, 7u);
}

TEST(NpyVectors, RefusesWhatIsNoArray) {
  EXPECT_EQ(error_of("a.npy", ""), "a.npy: is empty");
  EXPECT_EQ(error_of("a.npy", "1,2\n"), "a.npy: is no .npy file: it does not begin as one");
  EXPECT_EQ(error_of("a.npy", "\x93NUMPY"), "a.npy: is truncated: it ends in its header");
  EXPECT_EQ(error_of("a.npy", "\x93NUMPY\x01"), "a.npy: is truncated: it ends in its header");
  EXPECT_EQ(error_of("a.npy", npy("<f4", "(3, 2)", "").substr(0, 60)),
            "a.npy: is truncated: it ends in its header");
  EXPECT_EQ(error_of("a.npy", npy_start("{}", 4)),
            "a.npy: is of version 4 of .npy; 1, 2 and 3 are read");
}

TEST(NpyVectors, RefusesADamagedHeader) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}";
  ASSERT_EQ(error_of("a.npy", npy_start(good) + six_floats), "");
  for (const std::string& header : {
           std::string("{}"),
           std::string("{"),
           good.substr(1),
           good + "}",
           good + " x",
           std::string("{'descr': '<f4', 'fortran_order': False}"),
           std::string("{'descr': '<f4', 'fortran_order': false, 'shape': (3, 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': 6}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (3 2)}"),
           std::string(
               "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'x': (1)}"),
           std::string("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}"),
           std::string("{'descr': '<f4, 'fortran_order': False, 'shape': (3, 2)}"),
       })
    EXPECT_EQ(error_of("a.npy", npy_start(header) + six_floats),
              "a.npy: its .npy header is damaged")
        << header;
}

TEST(NpyVectors, RefusesATruncatedArrayAndBytesBehindIt) {
  EXPECT_EQ(error_of("a.npy", npy("<f4", "(3, 2)", six_floats.substr(1))),
            "a.npy: is truncated: its header promises 24 bytes of numbers, and 23 follow");
  EXPECT_EQ(error_of("a.npy", npy("<f4", "(3, 2)", six_floats + "x")),
            "a.npy: goes on for 1 bytes behind its array; one array a file is read");
  EXPECT_EQ(
      error_of("a.npy", npy("<f4", "(9999999999999, 9999999999999)", six_floats)),
      "a.npy: is truncated: its header promises more than 2^64 bytes of numbers, and 24 follow");
}

TEST(NpyVectors, RefusesTypesThatAreNoNumbers) {
  for (const std::string type :
       {"<c8", "|b1", "<U3", "|S4", "|O", "<f16", "<M8[s]", "<f3", "f4", "<f1", "|f4", ""})
    EXPECT_EQ(
        error_of("a.npy", npy(type, "(3, 2)", six_floats)),
        "a.npy: its numbers are of NumPy's type '" + type +
            "'; float16, float32, float64 and integers are read, which astype makes of others");
  EXPECT_EQ(error_of("a.npy", npy_start("{'descr': [('x', '<f4')], 'fortran_order': False, "
                                        "'shape': (3,)}")),
            "a.npy: its elements are records of several fields; save the numbers alone");
}

TEST(NpyVectors, RefusesOtherShapesThanRowsOfComponents) {
  EXPECT_THAT(error_of("a.npy", npy("<f4", "(6,)", six_floats)),
              HasSubstr("a.npy: its array has 1 axis; vectors need two, (rows, components)"));
  EXPECT_THAT(error_of("a.npy", npy("<f4", "(3, 2, 1)", six_floats)), HasSubstr("has 3 axes"));
  EXPECT_THAT(error_of("a.npy", npy("<f4", "()", six_floats.substr(0, 4))),
              HasSubstr("has 0 axes"));
}

TEST(NpyVectors, RefusesDimensionsThatAreNotSearched) {
  EXPECT_EQ(error_of("a.npy", npy("<f4", "(6, 0)", "")),
            "a.npy: has vectors of no components; 1 is the least");
  EXPECT_EQ(error_of("a.npy", npy("|u1", "(1, 4097)", std::string(4097, 'x'))),
            "a.npy: has vectors of 4097 components, and no more than 4096 are searched; project "
            "them to fewer");
  EXPECT_EQ(error_of("a.npy", npy("|u1", "(1, 4096)", std::string(4096, 'x'))), "");
}

TEST(NpyVectors, RefusesMoreRowsThanAreToldApart) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.npy", npy("|u1", "(2147483648, 1)", ""));
  // A file with a hole takes no room on the disk.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + (std::uintmax_t{1} << 31));
  EXPECT_THAT([&] { open_vectors(path); },
              testing::ThrowsMessage<TraceError>(
                  HasSubstr("has 2147483648 rows, and no more than 2147483647 are told apart")));
}

TEST(NpyVectors, APlaceIsRowAndColumn) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.npy", npy("<f4", "(3, 2)", six_floats));
  const auto file = open_vectors(path);
  file->next(2);
  file->next(2);
  EXPECT_EQ(file->place_of(0, 1), path + ": row 2, column 1 (counted from 0)");
}

TEST(VecsVectors, RowsOfEachKindAreRead) {
  EXPECT_THAT(read_vectors("a.fvecs", vecs_row<float>({1, 2.5f}) + vecs_row<float>({3, 4}) +
                                          vecs_row<float>({5, 6}))
                  .components,
              ElementsAre(1, 2.5f, 3, 4, 5, 6));
  EXPECT_THAT(read_vectors("a.bvecs",
                           vecs_row<std::uint8_t>({1, 255, 3}) + vecs_row<std::uint8_t>({4, 5, 6}))
                  .components,
              ElementsAre(1, 255, 3, 4, 5, 6));
  const ReadVectors read = read_vectors("a.ivecs", vecs_row<std::int32_t>({-1, 2}));
  EXPECT_THAT(read.components, ElementsAre(-1, 2));
  EXPECT_EQ(read.row_count, 1u);
  EXPECT_EQ(read.dimension, 2u);
}

TEST(VecsVectors, RefuseFilesThatAreCut) {
  EXPECT_EQ(error_of("a.fvecs", ""),
            "a.fvecs: is empty, so that its vectors' dimension is unknown");
  EXPECT_EQ(error_of("a.fvecs", "abc"),
            "a.fvecs: is truncated: its first row's dimension takes 4 bytes");
  const std::string rows = vecs_row<float>({1, 2}) + vecs_row<float>({3, 4});
  EXPECT_EQ(error_of("a.fvecs", rows.substr(0, 23)),
            "a.fvecs: is truncated, or its rows differ in dimension: it has 23 bytes, which is no "
            "multiple of the first row's 12");
  EXPECT_THAT(error_of("a.bvecs", vecs_row<std::uint8_t>({1, 2}) + "x"),
              HasSubstr("it has 7 bytes, which is no multiple of the first row's 6"));
}

TEST(VecsVectors, RefuseRowsThatDiffer) {
  const std::string rows =
      vecs_row<float>({1, 2, 3, 4}) + vecs_row<float>({1, 2}) + vecs_row<float>({3});
  EXPECT_EQ(error_of("a.fvecs", rows),
            "a.fvecs: row 1 (counted from 0) says that it has 2 components, and row 0 has 4; all "
            "must have as many");
}

TEST(VecsVectors, RefuseDimensionsThatAreNotSearched) {
  EXPECT_EQ(error_of("a.fvecs", vecs_row<float>({})),
            "a.fvecs: has vectors of no components; 1 is the least");
  EXPECT_EQ(
      error_of("a.ivecs", bytes_of<std::int32_t>({-2, 0})),
      "a.ivecs: its first row says that it has -2 components; is the file of another format?");
  EXPECT_THAT(error_of("a.bvecs", vecs_row(std::vector<std::uint8_t>(5000))),
              HasSubstr("a.bvecs: has vectors of 5000 components"));
}

TEST(CsvVectors, ReadsNumbersWithAndWithoutHeader) {
  EXPECT_THAT(read_vectors("a.csv", "1,2\n3,4\n5,6\n").components, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read_vectors("a.csv", "x,y\n1,2\n3,4").components, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read_vectors("a.csv", "\"x, 1\",\n1,2\n").components, ElementsAre(1, 2));
}

TEST(CsvVectors, ReadsWhatPeopleCallCsv) {
  EXPECT_THAT(read_vectors("a.csv", "\xEF\xBB\xBF# made by hand\r\n1 ; +2e1\r\n\r\n\"3\"; .5 \r\n")
                  .components,
              ElementsAre(1, 20, 3, .5f));
  EXPECT_THAT(read_vectors("a.tsv", "1\t-2\n").components, ElementsAre(1, -2));
  EXPECT_THAT(read_vectors("a.txt", "1.000000000000000000e+00 2\n").components, ElementsAre(1, 2));
  EXPECT_THAT(read_vectors("a.csv", "7\n8\n").components, ElementsAre(7, 8));
}

TEST(CsvVectors, AreReadCompressed) {
  const TemporaryDirectory directory;
  for (const std::string& path :
       {directory.write_gz("a.csv.gz", "1,2\n"), directory.write_zst("b.csv.zst", "1,2\n")})
    EXPECT_THAT(open_vectors(path)->next(9).components, ElementsAre(1, 2));
}

TEST(CsvVectors, RoundsTextOnceToFloat32) {
  // A hair above the middle of two float32: by way of float64 it would fall on it, and go down.
  EXPECT_THAT(read_vectors("a.csv", "1.000000059604644775390626,16777217,1e-46,1e-45\n").components,
              ElementsAre(1 + 0x1p-23f, 0x1p24f, 0, 0x1p-149f));
}

TEST(CsvVectors, NumbersBeyondFloat32AreToldFromInfinities) {
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto read = read_vectors("a.csv", "1e39,-1e999,1e-999,inf,-Infinity,nan\n");
  EXPECT_THAT(std::vector(read.components.begin(), read.components.end() - 1),
              ElementsAre(largest, -largest, 0, infinity, -infinity));
  EXPECT_TRUE(std::isnan(read.components.back()));
}

TEST(CsvVectors, RefusesRaggedRowsAtTheirPlace) {
  EXPECT_EQ(error_of("a.csv", "1,2,3\n4,5\n"),
            "a.csv:2:4: the row has 2 fields, and the first one 3");
  EXPECT_EQ(error_of("a.csv", "1,2\n3\n"), "a.csv:2:2: the row has 1 field, and the first one 2");
  EXPECT_EQ(error_of("a.csv", "1,2\n3,4,\n"),
            "a.csv:2:5: the row has 3 fields, and the first one 2");
}

TEST(CsvVectors, RefusesWhatIsNoNumberAtItsPlace) {
  EXPECT_EQ(error_of("a.csv", "x,y\n1,2\n3,four\n"), "a.csv:3:3: 'four' is not a number");
  EXPECT_EQ(error_of("a.csv", "id,1,2\n"), "a.csv:1:1: 'id' is not a number");
  EXPECT_EQ(error_of("a.csv", "1,,3\n"), "a.csv:1:3: there is nothing where a number must be");
  for (const std::string text : {"0x10", "1.5.2", "1e", "--1", "+-1", "1_000", "1f"})
    EXPECT_EQ(error_of("a.csv", "1\n" + text + "\n"), "a.csv:2:1: '" + text + "' is not a number");
  EXPECT_THAT(error_of("a.csv", "1\n" + std::string(100, 'x')),
              HasSubstr("xxx...' is not a number"));
}

TEST(CsvVectors, RefusesAnEmptyFileAndAnOpenQuote) {
  for (const std::string text : {"", "\n\n", "# nothing\n", "x,y\n"})
    EXPECT_EQ(error_of("a.csv", text), "a.csv: has no rows");
  EXPECT_EQ(error_of("a.csv", "1,2\n3,\"4\n"),
            "a.csv:2:3: the quote that opens here is never closed");
}

TEST(CsvVectors, RefusesDimensionsThatAreNotSearched) {
  std::string row = "1";
  for (int i = 0; i < 4096; ++i) row += ",1";
  EXPECT_THAT(error_of("a.csv", "\n" + row + "\n"),
              HasSubstr("a.csv:2:1: here begin vectors of 4097 components"));
}

TEST(CsvVectors, APlaceIsLineAndColumn) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.csv", "x,y\n1,2\n\n\"3\", 4\n5,6\n");
  const auto file = open_vectors(path);
  file->next(1);
  file->next(2);
  EXPECT_EQ(file->place_of(0, 1), path + ":4:5: the number");
  EXPECT_EQ(file->place_of(1, 0), path + ":5:1: the number");
}

TEST(VectorFiles, RefusesWhatCannotBeOpened) {
  const TemporaryDirectory directory;
  for (const std::string name : {"a.npy", "a.fvecs", "a.csv"})
    EXPECT_THAT([&] { open_vectors(directory.path(name)); },
                testing::ThrowsMessage<TraceError>(
                    HasSubstr(name + ": cannot be opened: No such file or directory")));
  std::filesystem::create_directory(directory.path("b.npy"));
  EXPECT_THAT([&] { open_vectors(directory.path("b.npy")); },
              testing::ThrowsMessage<TraceError>(HasSubstr("b.npy: is a directory")));
  std::filesystem::create_symlink("/dev/null", directory.path("c.npy"));
  EXPECT_THAT([&] { open_vectors(directory.path("c.npy")); },
              testing::ThrowsMessage<TraceError>(HasSubstr("c.npy: is no ordinary file")));
}

TEST(VectorFiles, RefusesNamesThatTellNoFormat) {
  for (const std::string name : {"a", "a.npz", "npy", "a.NPY", "a.npy.gz", "a.json"})
    EXPECT_THAT(error_of(name, "1\n"), HasSubstr("its name tells no format; .npy, .fvecs"));
}

}  // namespace
}  // namespace starling::sim
