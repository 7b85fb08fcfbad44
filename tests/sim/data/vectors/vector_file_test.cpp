// SPDX-License-Identifier: Apache-2.0
// Tests vectors in binary files of every number type, byte order and array order, and the error for
// each refused file.
#include "starling/sim/data/vectors/vector_file.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/vectors/vector_bytes.hpp"
#include "tests/sim/data/vectors/vector_fixture.hpp"

namespace starling::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST(NpyVectors, OnlyTypesThatFloat32CannotHoldAreKeptInFloat64) {
  const TemporaryDirectory directory;
  const auto exact_rows = [&](std::string_view type, const std::string& data) {
    const auto file = open_vectors(directory.write("a.npy", npy(type, "(1, 1)", data)));
    file->next(1);
    return std::vector<double>(file->exact_rows().begin(), file->exact_rows().end());
  };
  EXPECT_THAT(exact_rows("<f8", bytes_of(std::vector<double>{6650000.1})), ElementsAre(6650000.1));
  EXPECT_THAT(exact_rows("<i4", bytes_of(std::vector<std::int32_t>{-16777217})),
              ElementsAre(-16777217));
  EXPECT_THAT(exact_rows("<u8", bytes_of(std::vector<std::uint64_t>{std::uint64_t{1} << 40})),
              ElementsAre(0x1p40));
  EXPECT_THAT(exact_rows("<i2", bytes_of(std::vector<std::int16_t>{5})), IsEmpty());
  EXPECT_THAT(exact_rows("<f4", bytes_of(std::vector<float>{5})), IsEmpty());
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
  EXPECT_EQ(vector_error("a.npy", ""), "a.npy: the file is empty");
  EXPECT_EQ(vector_error("a.npy", "1,2\n"),
            "a.npy: the file is not .npy: it does not begin with \\x93NUMPY");
  const std::string truncated = "a.npy: the file is truncated: it ends inside its header";
  EXPECT_EQ(vector_error("a.npy", "\x93NUMPY"), truncated);
  EXPECT_EQ(vector_error("a.npy", "\x93NUMPY\x01"), truncated);
  EXPECT_EQ(vector_error("a.npy", npy("<f4", "(3, 2)", "").substr(0, 60)), truncated);
  EXPECT_EQ(vector_error("a.npy", npy_start("{}", 4)),
            "a.npy: the file has .npy version 4; 1, 2 and 3 are read");
}

TEST(NpyVectors, RefusesADamagedHeader) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}";
  ASSERT_EQ(vector_error("a.npy", npy_start(good) + six_floats), "");
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
    EXPECT_EQ(vector_error("a.npy", npy_start(header) + six_floats),
              "a.npy: the .npy header is damaged")
        << header;
}

TEST(NpyVectors, ShowsTheBeginningOfALongType) {
  EXPECT_THAT(vector_error("a.npy", npy_start("{'descr': '" + std::string(5000, 'x') +
                                              "', 'fortran_order': False, 'shape': (3, 2)}")),
              testing::StartsWith("a.npy: the elements have NumPy's type '" + std::string(60, 'x') +
                                  "\u2026'; integers"));
}

TEST(NpyVectors, RefusesATruncatedArrayAndBytesBehindIt) {
  EXPECT_EQ(vector_error("a.npy", npy("<f4", "(3, 2)", six_floats.substr(1))),
            "a.npy: the file is truncated: its header promises 24 bytes of numbers, but 23 follow");
  EXPECT_EQ(vector_error("a.npy", npy("<f4", "(3, 2)", six_floats + "x")),
            "a.npy: the file has 1 bytes after its array; a file holds one array");
  EXPECT_EQ(vector_error("a.npy", npy("<f4", "(9999999999999, 9999999999999)", six_floats)),
            "a.npy: the file is truncated: its header promises more than 2^64 bytes of numbers, "
            "but 24 follow");
}

TEST(NpyVectors, RefusesTypesThatAreNoNumbers) {
  for (const std::string type :
       {"<c8", "|b1", "<U3", "|S4", "|O", "<f16", "<M8[s]", "<f3", "f4", "<f1", "|f4", ""})
    EXPECT_EQ(
        vector_error("a.npy", npy(type, "(3, 2)", six_floats)),
        "a.npy: the elements have NumPy's type '" + type +
            "'; integers, float16, float32 and float64 are read. NumPy's astype converts other "
            "numbers; numpy.unique(labels, return_inverse=True) turns text labels into integers");
  EXPECT_EQ(vector_error("a.npy", npy_start("{'descr': [('x', '<f4')], 'fortran_order': False, "
                                            "'shape': (3,)}")),
            "a.npy: the elements are records of several fields; save an array of plain numbers");
}

TEST(NpyVectors, RefusesOtherShapesThanRowsOfComponents) {
  EXPECT_THAT(vector_error("a.npy", npy("<f4", "(6,)", six_floats)),
              HasSubstr("a.npy: the array has 1 axis; vectors need two, (rows, components)"));
  EXPECT_THAT(vector_error("a.npy", npy("<f4", "(3, 2, 1)", six_floats)), HasSubstr("has 3 axes"));
  EXPECT_THAT(vector_error("a.npy", npy("<f4", "()", six_floats.substr(0, 4))),
              HasSubstr("has 0 axes"));
}

TEST(NpyVectors, RefusesDimensionsThatAreNotSearched) {
  EXPECT_EQ(vector_error("a.npy", npy("<f4", "(6, 0)", "")),
            "a.npy: the file has vectors of 0 components; at least 1 is needed");
  EXPECT_EQ(vector_error("a.npy", npy("|u1", "(1, 4097)", std::string(4097, 'x'))),
            "a.npy: the file has vectors of 4097 components; at most 4096 are allowed, so project "
            "them to fewer");
  EXPECT_EQ(vector_error("a.npy", npy("|u1", "(1, 4096)", std::string(4096, 'x'))), "");
}

TEST(NpyVectors, RefusesMoreRowsThanAreToldApart) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.npy", npy("|u1", "(2147483648, 1)", ""));
  // The file is sparse and takes no space on the disk.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + (std::uintmax_t{1} << 31));
  EXPECT_THAT([&] { open_vectors(path); },
              testing::ThrowsMessage<InputError>(
                  HasSubstr("has 2147483648 rows; at most 2147483647 are allowed")));
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
  EXPECT_EQ(vector_error("a.fvecs", ""),
            "a.fvecs: the file is empty, so the dimension of its vectors is unknown");
  EXPECT_EQ(vector_error("a.fvecs", "abc"),
            "a.fvecs: the file is truncated: the first row's dimension takes 4 bytes");
  const std::string rows = vecs_row<float>({1, 2}) + vecs_row<float>({3, 4});
  EXPECT_EQ(vector_error("a.fvecs", rows.substr(0, 23)),
            "a.fvecs: the file is truncated or its rows differ in dimension: it has 23 bytes, "
            "which is not a multiple of the first row's 12");
  EXPECT_THAT(vector_error("a.bvecs", vecs_row<std::uint8_t>({1, 2}) + "x"),
              HasSubstr("it has 7 bytes, which is not a multiple of the first row's 6"));
}

TEST(VecsVectors, RefuseRowsThatDiffer) {
  const std::string rows =
      vecs_row<float>({1, 2, 3, 4}) + vecs_row<float>({1, 2}) + vecs_row<float>({3});
  EXPECT_EQ(vector_error("a.fvecs", rows),
            "a.fvecs: row 1 (counted from 0) has 2 components, but row 0 has 4; all rows need the "
            "same number");
}

TEST(VecsVectors, RefuseDimensionsThatAreNotSearched) {
  EXPECT_EQ(vector_error("a.fvecs", vecs_row<float>({})),
            "a.fvecs: the file has vectors of 0 components; at least 1 is needed");
  EXPECT_EQ(vector_error("a.ivecs", bytes_of<std::int32_t>({-2, 0})),
            "a.ivecs: the first row has a dimension of -2; does the file have another format?");
  EXPECT_THAT(vector_error("a.bvecs", vecs_row(std::vector<std::uint8_t>(5000))),
              HasSubstr("a.bvecs: the file has vectors of 5000 components"));
}

TEST(VectorFiles, RefusesWhatCannotBeOpened) {
  const TemporaryDirectory directory;
  for (const std::string name : {"a.npy", "a.fvecs", "a.csv"})
    EXPECT_THAT([&] { open_vectors(directory.path(name)); },
                testing::ThrowsMessage<InputError>(
                    HasSubstr(name + ": cannot be opened: No such file or directory")));
  std::filesystem::create_directory(directory.path("b.npy"));
  EXPECT_THAT([&] { open_vectors(directory.path("b.npy")); },
              testing::ThrowsMessage<InputError>(HasSubstr("b.npy: is a directory")));
  std::filesystem::create_symlink("/dev/null", directory.path("c.npy"));
  EXPECT_THAT([&] { open_vectors(directory.path("c.npy")); },
              testing::ThrowsMessage<InputError>(HasSubstr("c.npy: is not a regular file")));
  ASSERT_EQ(mkfifo(directory.path("d.npy").c_str(), 0600), 0);  // a pipe that no program writes to
  EXPECT_THAT([&] { open_vectors(directory.path("d.npy")); },
              testing::ThrowsMessage<InputError>(HasSubstr("d.npy: is not a regular file")));
}

TEST(VectorFiles, RefusesNamesThatTellNoFormat) {
  for (const std::string name : {"a", "a.npz", "npy", "a.NPY", "a.npy.gz", "a.json"})
    EXPECT_THAT(vector_error(name, "1\n"),
                HasSubstr("the file's ending names no known format; .npy, .fvecs"));
}

}  // namespace
}  // namespace starling::sim
