// SPDX-License-Identifier: Apache-2.0
// Checks the #include lines of every source file against the table of rooms. Also checks that no
// room has too many source files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house/include_table.hpp"

namespace starling::house {
namespace {

namespace fs = std::filesystem;

constexpr int room_sources_max = 30;

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".hpp" || extension == ".cpp" || extension == ".cuh" || extension == ".cu";
}

/// Returns the source files of a folder, without those of its subfolders.
std::vector<fs::path> sources_in(const fs::path& folder) {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_source(entry.path())) sources.push_back(entry.path());
  return sources;
}

/// Returns the violations in all files of a room, each as "file:line: why".
std::vector<std::string> violations_in(const fs::path& root, const std::string& room) {
  std::vector<std::string> violations;
  for (const fs::path& source : sources_in(root / room)) {
    std::ifstream file(source);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
      if (const auto why = include_violation(room, line))
        violations.push_back(fs::relative(source, root).string() + ":" + std::to_string(number) +
                             ": " + *why);
  }
  return violations;
}

/// Returns the rooms whose headers the room in `folder` includes. The room itself may be one of
/// them.
std::set<std::string> included_rooms(const fs::path& folder) {
  constexpr std::string_view begin = "#include \"starling/";
  std::set<std::string> rooms;
  for (const fs::path& source : sources_in(folder)) {
    std::ifstream file(source);
    std::string line;
    while (std::getline(file, line))
      if (line.starts_with(begin))
        rooms.insert(line.substr(begin.size(), line.rfind('/') - begin.size()));
  }
  return rooms;
}

class EachRoom : public testing::TestWithParam<Room> {};

TEST_P(EachRoom, IncludesOnlyWhatTheTableAllows) {
  const fs::path root = STARLING_SOURCE_DIR;
  EXPECT_FALSE(sources_in(root / GetParam().name).empty());
  for (const auto& violation : violations_in(root, GetParam().name)) ADD_FAILURE() << violation;
}

TEST_P(EachRoom, IncludesSomethingOfEachRoomThatTheTableAllows) {
  const auto included = included_rooms(fs::path(STARLING_SOURCE_DIR) / GetParam().name);
  for (const std::string& target : GetParam().may_include)
    EXPECT_TRUE(included.contains(target))
        << "remove the arrow from " << GetParam().name << " to " << target << ": no file takes it";
}

std::string test_name(const testing::TestParamInfo<Room>& room) {
  std::string name = room.param.name;
  std::ranges::replace(name, '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(House, EachRoom, testing::ValuesIn(house_rooms()), test_name);

TEST(Rooms, AreAllFoldersWithSourcesAndHoldAtMostThirtyEach) {
  const fs::path root = STARLING_SOURCE_DIR;
  std::vector<std::string> expected{"examples"};
  for (const Room& room : house_rooms()) expected.push_back(room.name);
  std::map<std::string, int> counts;
  for (const char* const top : {"apps", "bench", "clients", "cpu", "examples", "gpu", "knn", "log",
                                "protocol", "sim", "stream", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top))
      if (entry.is_regular_file() && is_source(entry.path()))
        ++counts[fs::relative(entry.path().parent_path(), root).string()];
  }
  std::vector<std::string> found;
  for (const auto& [folder, count] : counts) {
    EXPECT_LE(count, room_sources_max) << folder;
    if (!folder.starts_with("tests")) found.push_back(folder);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
}

TEST(Rooms, IncludeOnlyRoomsBelowThemSoThatNoCircleCanForm) {
  std::vector<std::string> below;
  for (const Room& room : house_rooms()) {
    for (const std::string& target : room.may_include)
      EXPECT_THAT(below, testing::Contains(target)) << room.name << " stands below " << target;
    below.push_back(room.name);
  }
}

TEST(Rooms, OfPointsAndOfVectorsDoNotIncludeEachOther) {
  for (const Room& room : house_rooms())
    for (const std::string& target : room.may_include) {
      EXPECT_FALSE(room.name.starts_with("gpu/points") && target.starts_with("gpu/vectors"));
      EXPECT_FALSE(room.name.starts_with("gpu/vectors") && target.starts_with("gpu/points"));
      EXPECT_FALSE(room.name.starts_with("cpu/points") && target.starts_with("cpu/vectors"));
      EXPECT_FALSE(room.name.starts_with("cpu/vectors") && target.starts_with("cpu/points"));
    }
}

TEST(IncludeTable, ForbidsArrowsThatItDoesNotShow) {
  EXPECT_TRUE(include_violation("knn/words", "#include \"starling/cpu/backend.hpp\""));
  EXPECT_TRUE(include_violation("cpu/points", "#include \"starling/protocol/wire/messages.hpp\""));
  EXPECT_TRUE(include_violation("cpu/points", "#include \"starling/cpu/vectors/scan.hpp\""));
  EXPECT_TRUE(
      include_violation("sim/data/files", "  #  include \"starling/stream/server.hpp\"  // why"));
  EXPECT_TRUE(include_violation("stream", "#include <starling/cpu/backend.hpp>"));
}

TEST(IncludeTable, AllowsItsArrowsTheRoomItselfAndLibraries) {
  EXPECT_FALSE(include_violation("cpu/points", "#include \"starling/knn/engine/engine.hpp\""));
  EXPECT_FALSE(include_violation("knn/engine", "#include \"starling/knn/engine/engine.hpp\""));
  EXPECT_FALSE(include_violation("apps/shared", "#include \"starling/cpu/backend.hpp\""));
  EXPECT_FALSE(include_violation("stream", "#include <boost/asio/io_context.hpp>"));
  EXPECT_FALSE(include_violation("cpu/points/search", "#include \"hwy/highway.h\""));
  EXPECT_FALSE(include_violation("cpu/points", "// #include \"starling/stream/server.hpp\""));
}

TEST(IncludeTable, KeepsKnnOnTheStandardLibraryAlone) {
  EXPECT_FALSE(include_violation("knn/words", "#include <memory_resource>"));
  EXPECT_FALSE(include_violation("knn/base", "#include <pthread.h>"));
  EXPECT_TRUE(include_violation("knn/words", "#include <pthread.h>"));
  EXPECT_TRUE(include_violation("knn/words", "#include <immintrin.h>"));
  EXPECT_TRUE(include_violation("knn/tables", "#include <boost/unordered/unordered_flat_map.hpp>"));
  EXPECT_TRUE(include_violation("knn/engine", "#include \"hwy/highway.h\""));
}

TEST(IncludeTable, WantsPathsFromTheIncludeRoot) {
  EXPECT_TRUE(include_violation("cpu/points", "#include \"tick_lists.hpp\""));
  EXPECT_TRUE(include_violation("cpu/points", "#include \"cpu/points/tick_lists.hpp\""));
}

}  // namespace
}  // namespace starling::house
