// SPDX-License-Identifier: Apache-2.0
// Checks written lists and votes byte by byte. Also checks that files are complete or absent.
#include "starling/sim/data/vectors/vector_results.hpp"

#include <cmath>
#include <csignal>
#include <limits>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/npy_header.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"
#include "tests/sim/data/vectors/vector_bytes.hpp"

namespace starling::sim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Lists = std::vector<VectorNeighbor>;

constexpr float infinity = std::numeric_limits<float>::infinity();
const Lists two_lists{{4, 7}, {9, 2}, {0.25f, 0}, {infinity, no_row}};
const Lists empty_list{{infinity, no_row}, {infinity, no_row}};

/// Gives the lists to a writer, one query at a time. Returns the content of the file that it
/// writes.
template <class Make>
std::string written(const std::string& name, const Lists& lists, const Make& make) {
  const TemporaryDirectory directory;
  const auto writer = make(directory.path(name));
  for (std::size_t at = 0; at < lists.size(); at += 2)
    writer->write(std::span(lists).subspan(at, 2));
  writer->finish();
  EXPECT_FALSE(std::filesystem::exists(directory.path(name)));
  writer->close();
  return name.find(".csv") == std::string::npos
             ? TemporaryDirectory::read_bytes(directory.path(name))
             : TemporaryDirectory::read(directory.path(name));
}

const ListShape two_of_two{Metric::l2, 2, 2};
const ListShape two_of_many{Metric::l2, 2, std::nullopt};

TEST(ListCsv, HasARowANeighbour) {
  for (const std::string name : {"a.csv", "a.csv.gz", "a.csv.zst"})
    EXPECT_EQ(written(name, two_lists, [](auto path) { return make_list_csv(path, two_of_many); }),
              "query_id,rank,object_id,distance\n0,1,7,2\n0,2,2,3\n1,1,0,0.5\n");
}

TEST(ListCsv, DistancesReadBackToTheSameNumber) {
  const Lists list{{2, 1}, {1e-42f, 3}};
  EXPECT_EQ(
      written("a.csv", list, [](auto path) { return make_list_csv(path, two_of_many); }),
      "query_id,rank,object_id,distance\n0,1,1,1.4142135623730951\n0,2,3,1.0002635170433437e-21\n");
  EXPECT_EQ(std::sqrt(static_cast<double>(1e-42f)), 1.0002635170433437e-21);
  const ListShape inner{Metric::inner_product, 2, 1};
  EXPECT_EQ(
      written("a.csv", {{-2.5f, 1}, {0, 3}}, [&](auto path) { return make_list_csv(path, inner); }),
      "query_id,rank,object_id,distance\n0,1,1,-2.5\n0,2,3,0\n");
}

TEST(IdArray, IsInt64WithMinusOneBehindShortLists) {
  for (const ListShape& shape : {two_of_two, two_of_many})
    EXPECT_EQ(written("a.npy", two_lists, [&](auto path) { return make_id_array(path, shape); }),
              npy_header_text("<i8", std::vector<std::uint64_t>{2, 2}) +
                  bytes_of<std::int64_t>({7, 2, 0, -1}));
}

TEST(IdArray, IsIvecsOfInt32) {
  EXPECT_EQ(
      written("a.ivecs", two_lists, [](auto path) { return make_id_array(path, two_of_many); }),
      vecs_row<std::int32_t>({7, 2}) + vecs_row<std::int32_t>({0, -1}));
}

TEST(DistanceArray, IsFloat64WithInfinityBehindShortLists) {
  for (const ListShape& shape : {two_of_two, two_of_many})
    EXPECT_EQ(
        written("a.npy", two_lists, [&](auto path) { return make_distance_array(path, shape); }),
        npy_header_text("<f8", std::vector<std::uint64_t>{2, 2}) +
            bytes_of<double>({2, 3, 0.5, infinity}));
}

TEST(DistanceArray, IsFvecsOfFloat32) {
  EXPECT_EQ(written("a.fvecs", two_lists,
                    [](auto path) { return make_distance_array(path, two_of_two); }),
            vecs_row<float>({2, 3}) + vecs_row<float>({0.5f, infinity}));
}

TEST(Votes, StandOnePerQueryAndNothingWhereNobodyVotes) {
  const std::vector<Label> labels{5, 0, -7, 0, 0, 0, 0, -7};
  Lists lists = two_lists;
  lists.insert(lists.end(), empty_list.begin(), empty_list.end());
  EXPECT_EQ(
      written("a.csv", lists, [&](auto path) { return make_vote_csv(path, two_of_many, labels); }),
      "query_id,label\n0,-7\n1,5\n2,\n");
  EXPECT_EQ(
      written("a.csv", lists, [&](auto path) { return make_vote_file(path, two_of_many, labels); }),
      "query_id,label\n0,-7\n1,5\n2,\n");
  EXPECT_EQ(
      written("a.npy", lists, [&](auto path) { return make_vote_file(path, two_of_many, labels); }),
      npy_header_text("<i8", std::vector<std::uint64_t>{3}) +
          bytes_of<std::int64_t>({-7, 5, no_label}));
}

TEST(ValuesOfLists, StandOnePerQueryAndNothingWhereThereIsNoNeighbour) {
  const std::vector<double> values{5, 0, -7, 0, 0, 0, 0, 0.5};
  const Regression regression{values, RegressionWeights::uniform};
  Lists lists = two_lists;
  lists.insert(lists.end(), empty_list.begin(), empty_list.end());
  const std::string csv = "query_id,value\n0,-3.25\n1,5\n2,\n";
  EXPECT_EQ(written("a.csv", lists,
                    [&](auto path) { return make_value_csv(path, two_of_many, regression); }),
            csv);
  EXPECT_EQ(written("a.csv", lists,
                    [&](auto path) { return make_value_file(path, two_of_many, regression); }),
            csv);
  EXPECT_EQ(written("a.npy", lists,
                    [&](auto path) { return make_value_file(path, two_of_many, regression); }),
            npy_header_text("<f8", std::vector<std::uint64_t>{3}) +
                bytes_of<double>({-3.25, 5, std::numeric_limits<double>::quiet_NaN()}));
}

TEST(NpyHeaderText, IsReadBackAndAlwaysAsLong) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{0}, {~0ull >> 8}, {0, 1}, {2147483647, 2048}}) {
    const std::string text = npy_header_text("|u1", shape);
    EXPECT_EQ(text.size(), 128u);
  }
  const std::string empty = npy_header_text("|u1", std::vector<std::uint64_t>{0, 7});
  const NpyHeader read = parse_npy_header(std::as_bytes(std::span(empty)), "a.npy");
  EXPECT_THAT(read.shape, testing::ElementsAre(0, 7));
  EXPECT_EQ(read.type_name, "|u1");
  EXPECT_THAT(npy_header_text("<f8", std::vector<std::uint64_t>{3}), HasSubstr("'shape': (3,), }"));
  EXPECT_THAT(npy_header_text("<f8", std::vector<std::uint64_t>{3, 4}),
              HasSubstr("'shape': (3, 4), }"));
}

TEST(VectorResults, RefuseNamesThatTellNoFormat) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { make_id_array(directory.path("a.fvecs"), two_of_two); },
              ThrowsMessage<UsageError>(HasSubstr("no known format; .npy and .ivecs are written")));
  EXPECT_THAT([&] { make_distance_array(directory.path("a.csv"), two_of_two); },
              ThrowsMessage<UsageError>(HasSubstr("no known format; .npy and .fvecs are written")));
  EXPECT_THAT([&] { make_vote_file(directory.path("a.ivecs"), two_of_two, {}); },
              ThrowsMessage<UsageError>(HasSubstr("no known format; .npy and .csv are written")));
  EXPECT_THAT([&] { make_value_file(directory.path("a.fvecs"), two_of_two, {}); },
              ThrowsMessage<UsageError>(HasSubstr("no known format; .npy and .csv are written")));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(VectorResults, AFullDiskLeavesTheOldFile) {
  const TemporaryDirectory directory;
  const ListShape shape{Metric::l2, 1, std::nullopt};
  const Lists lists(100'000, {2, 1});
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const auto expect_failure = [&](const std::string& name, const auto& make) {
    directory.write(name, "old");
    const rlimit small{4'096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THAT(
        [&] {
          const auto writer = make(directory.path(name), shape);
          writer->write(lists);
          writer->finish();  // an error occurs at the latest here, before the file gets its name
        },
        ThrowsMessage<std::runtime_error>(HasSubstr(name + " cannot be ")));
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(TemporaryDirectory::read(directory.path(name)), "old");
    EXPECT_THAT(directory.names(), testing::ElementsAre(name));
    std::filesystem::remove(directory.path(name));
  };
  expect_failure("a.csv", make_list_csv);
  expect_failure("a.csv.gz", make_list_csv);
  expect_failure("a.csv.zst", make_list_csv);
  expect_failure("a.npy", make_id_array);
  expect_failure("a.ivecs", make_id_array);
  expect_failure("b.npy", make_distance_array);
  expect_failure("a.fvecs", make_distance_array);
}

TEST(VectorResults, AnUnknownLengthNeedsAFileThatCanBeGoneBackIn) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/dev/full", directory.path("a.npy"));
  const auto writer = make_id_array(directory.path("a.npy"), two_of_many);
  EXPECT_THAT(
      [&] {
        writer->write(two_lists);
        writer->close();
      },
      ThrowsMessage<std::runtime_error>(HasSubstr("a.npy cannot be ")));
}

}  // namespace
}  // namespace starling::sim
