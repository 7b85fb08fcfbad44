// SPDX-License-Identifier: Apache-2.0
// Tests the result file: the order of its rows, the original ids, and the numbers. The file is
// plain or compressed.
#include "starling/sim/replay/result_csv.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using Neighbors = std::vector<protocol::HeldNeighbor>;

protocol::ListKey of_query(std::uint64_t id) {
  return {QueryId{id}, false, {}};
}
protocol::ListKey of_subject(std::uint64_t id) {
  return {QueryId{0}, true, ObjectId{id}};
}

protocol::ListStore lists_of(
    std::initializer_list<std::pair<protocol::ListKey, Neighbors>> entries) {
  protocol::ListStore lists;
  for (const auto& [key, neighbors] : entries) lists[key].neighbors = neighbors;
  return lists;
}

TEST(ResultCsv, SortsByQueryAndRanksFromOne) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  const Neighbors two{{ObjectId{5}, 0}, {ObjectId{4}, 1234.5678}};
  const Neighbors one{{ObjectId{18446744073709551615u}, 0.0005}};
  NameTable names;
  ResultCsv csv(path, names, names);
  csv.write_tick(Tick{1}, -1'000'000,
                 lists_of({{of_query(10), one}, {of_query(9), two}, {of_query(8), {}}}));
  csv.write_tick(Tick{2}, 0, {});
  csv.write_tick(Tick{3}, 1'000'000, lists_of({{of_query(9), one}}));
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m\n"
            "1,-1000000,8,0,,\n"
            "1,-1000000,9,1,5,0.000\n"
            "1,-1000000,9,2,4,1234.568\n"
            "1,-1000000,10,1,18446744073709551615,0.001\n"
            "3,1000000,9,1,18446744073709551615,0.001\n");
}

TEST(ResultCsv, WritesExactDistancesThatReadBackToTheSameNumber) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  const double largest = std::numeric_limits<double>::max();
  const Neighbors list{{ObjectId{1}, 0}, {ObjectId{2}, 4.359105412811211}, {ObjectId{3}, largest}};
  NameTable names;
  ResultCsv csv(path, names, names, {.exact_distances = true});
  csv.write_tick(Tick{1}, 0, lists_of({{of_query(1), list}}));
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m\n"
            "1,0,1,1,1,0\n"
            "1,0,1,2,2,4.359105412811211\n"
            "1,0,1,3,3,1.7976931348623157e+308\n");
}

TEST(ResultCsv, WritesOriginalIdsNumbersBeforeTexts) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable queries;
  NameTable objects;
  const std::uint64_t car = objects.intern("car_10").id;
  const std::uint64_t bus = objects.intern("bus, \"late\"").id;
  const std::uint64_t padded = objects.intern("0030").id;
  const Neighbors to_car{{ObjectId{car}, 1}};
  const Neighbors to_bus{{ObjectId{bus}, 2}};
  ResultCsv csv(path, queries, objects);
  csv.write_tick(Tick{1}, 0,
                 lists_of({{of_subject(car), to_bus},
                           {of_subject(bus), to_car},
                           {of_subject(padded), to_car},
                           {of_subject(4), to_bus}}));
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m\n"
            "1,0,4,1,\"bus, \"\"late\"\"\",2.000\n"
            "1,0,0030,1,car_10,1.000\n"
            "1,0,\"bus, \"\"late\"\"\",1,car_10,1.000\n"
            "1,0,car_10,1,\"bus, \"\"late\"\"\",2.000\n");
}

TEST(ResultCsv, SubjectsHaveAColumnWhereTheyAreAskedFor) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable names;
  names.put(7, "bus");
  const Neighbors one{{ObjectId{7}, 1}};
  ResultCsv csv(path, names, names, {.subjects = true});
  csv.write_tick(Tick{1}, 0,
                 lists_of({{{QueryId{4}, true, ObjectId{1}}, one},
                           {{QueryId{3}, true, ObjectId{7}}, one},
                           {{QueryId{3}, true, ObjectId{1}}, one},
                           {of_query(1), one}}));
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m,subject\n"
            "1,0,1,1,bus,1.000,\n"
            "1,0,3,1,bus,1.000,1\n"
            "1,0,3,1,bus,1.000,bus\n"
            "1,0,4,1,bus,1.000,1\n");
}

TEST(ResultCsv, AnEmptyListIsOneRowOfRankZeroWithBlankObjectAndDistance) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable names;
  ResultCsv plain(path, names, names);
  plain.write_tick(Tick{1}, 5, lists_of({{of_query(1), {{ObjectId{2}, 1}}}, {of_query(9), {}}}));
  plain.write_tick(Tick{2}, 6, lists_of({{of_query(1), {}}, {of_query(9), {}}}));
  plain.write_tick(Tick{3}, 7, {});
  plain.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m\n"
            "1,5,1,1,2,1.000\n"
            "1,5,9,0,,\n"
            "2,6,1,0,,\n"
            "2,6,9,0,,\n");
}

TEST(ResultCsv, FurtherColumnsOfAnEmptyListAreThoseOfTheListAndNotOfANeighbour) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable names;
  ResultCsv csv(path, names, names,
                {.votes = true,
                 .means = true,
                 .subjects = true,
                 .iso_time = true,
                 .positions = true,
                 .changes = true});
  csv.write_tick(Tick{1}, 0, lists_of({{of_query(9), {}}, {{QueryId{3}, true, ObjectId{1}}, {}}}));
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m,vote,value,subject,time,x,y,change\n"
            "1,0,3,0,,,,,1,1970-01-01T00:00:00Z,,,\n"
            "1,0,9,0,,,,,,1970-01-01T00:00:00Z,,,\n");
}

TEST(ResultCsv, AFileOfChangesTellsRemovedListsFromEmptyOnes) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable names;
  const Neighbors one{{ObjectId{5}, 1}};
  const protocol::ListKey first{QueryId{3}, true, ObjectId{1}};
  const protocol::ListKey second{QueryId{3}, true, ObjectId{2}};
  ResultCsv csv(path, names, names, {.subjects = true});
  csv.write_changes(
      Tick{1}, 0,
      lists_of(
          {{of_query(1), one}, {of_query(2), one}, {of_query(4), {}}, {first, one}, {second, {}}}),
      {});
  csv.write_changes(Tick{2}, 0, lists_of({{of_query(1), {}}}),
                    std::vector{of_query(2), of_query(4), first});
  csv.write_changes(Tick{3}, 0, {}, std::vector{second, of_query(3), of_query(8)});
  csv.write_changes(Tick{4}, 0, lists_of({{of_query(1), one}}), std::vector{of_query(1)});
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m,subject\n"
            "1,0,1,1,5,1.000,\n"
            "1,0,2,1,5,1.000,\n"
            "1,0,3,1,5,1.000,1\n"
            "1,0,3,0,,,2\n"
            "1,0,4,0,,,\n"
            "2,0,1,0,,,\n"
            "2,0,2,,,,\n"
            "2,0,3,,,,1\n"
            "2,0,4,,,,\n"
            "3,0,3,,,,2\n"
            "3,0,8,,,,\n"
            "4,0,1,1,5,1.000,\n");
}

TEST(ResultCsv, ASnapshotAfterAGapRemovesTheListsThatItDoesNotHave) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable names;
  const Neighbors one{{ObjectId{5}, 1}};
  ResultCsv csv(path, names, names);
  csv.write_snapshot(Tick{1}, 0, lists_of({{of_query(1), {}}, {of_query(2), one}}));
  csv.write_snapshot(Tick{7}, 0, lists_of({{of_query(2), one}}));
  csv.write_snapshot(Tick{9}, 0, {});
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m\n"
            "1,0,1,0,,\n"
            "1,0,2,1,5,1.000\n"
            "7,0,1,,,\n"
            "7,0,2,1,5,1.000\n"
            "9,0,2,,,\n");
}

TEST(ResultCsv, WritesWhoEnteredStayedAndLeft) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("results.csv");
  NameTable names;
  names.put(4, "bus, 4");
  const Neighbors one{{ObjectId{5}, 1}};
  const Neighbors two{{ObjectId{5}, 1}, {ObjectId{4}, 2}};
  ResultCsv csv(path, names, names, {.positions = true, .changes = true, .space = Space::wgs84});
  csv.write_tick(Tick{1}, 0, lists_of({{of_query(1), two}, {of_query(2), one}}));
  protocol::ListStore lists = lists_of({{of_query(1), one}});
  lists[of_query(1)].states = {{{13.25, 52.5, 7}, 0}};
  csv.write_tick(Tick{2}, 0, lists);
  csv.write_tick(Tick{3}, 0, lists_of({{of_query(2), one}}));
  csv.close();
  EXPECT_EQ(TemporaryDirectory::read(path),
            "tick,time_us,query_id,rank,object_id,distance_m,lon,lat,alt,change\n"
            "1,0,1,1,5,1.000,,,,entered\n"
            "1,0,1,2,\"bus, 4\",2.000,,,,entered\n"
            "1,0,2,1,5,1.000,,,,entered\n"
            "2,0,1,1,5,1.000,13.25,52.5,7,stayed\n"
            "2,0,1,,\"bus, 4\",,,,,left\n"
            "2,0,2,,5,,,,,left\n"
            "3,0,1,,5,,,,,left\n"
            "3,0,2,1,5,1.000,,,,entered\n");
}

TEST(ResultCsv, CompressesByTheFilesName) {
  const TemporaryDirectory directory;
  NameTable names;
  Neighbors neighbors;
  for (std::uint64_t id = 0; id < 1000; ++id) neighbors.push_back({ObjectId{id}, 0.25});
  for (const std::string name : {"results.csv", "results.csv.gz"}) {
    ResultCsv csv(directory.path(name), names, names);
    for (std::uint64_t tick = 1; tick <= 200; ++tick)
      csv.write_tick(Tick{tick}, 0, lists_of({{of_query(1), neighbors}}));
    csv.close();
  }
  EXPECT_LT(std::filesystem::file_size(directory.path("results.csv.gz")),
            std::filesystem::file_size(directory.path("results.csv")) / 4);
  EXPECT_EQ(TemporaryDirectory::read(directory.path("results.csv.gz")),
            TemporaryDirectory::read(directory.path("results.csv")));
}

TEST(ResultCsv, AFileThatCannotBeWrittenIsAnError) {
  NameTable names;
  EXPECT_THAT([&] { ResultCsv("/nonexistent/results.csv", names, names); },
              testing::ThrowsMessage<std::runtime_error>(
                  "/nonexistent/results.csv cannot be opened: No such file or directory"));
  ResultCsv csv("/dev/full", names, names);
  EXPECT_THAT([&] { csv.close(); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("No space left")));
}

}  // namespace
}  // namespace starling::sim
