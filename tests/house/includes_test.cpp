// Holds the #include lines of every source folder against the house's table of dependencies.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/house/include_table.hpp"

namespace starling::house {
namespace {

namespace fs = std::filesystem;

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".hpp" || extension == ".cpp" || extension == ".cuh" || extension == ".cu";
}

// Sentences "file:line: why" for all files of a folder; counts the files it read.
std::vector<std::string> violations_in(const fs::path& root, const std::string& folder,
                                       int& file_count) {
  std::vector<std::string> violations;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    ++file_count;
    std::ifstream file(entry.path());
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
      if (const auto why = include_violation(folder, line))
        violations.push_back(fs::relative(entry.path(), root).string() + ":" +
                             std::to_string(number) + ": " + *why);
  }
  return violations;
}

// Those of the table that exist: gpu/ is built only where it has come to be.
std::vector<std::string> existing_folders() {
  std::vector<std::string> folders = house_folders();
  std::erase_if(folders, [](const auto& folder) {
    return !fs::exists(fs::path(STARLING_SOURCE_DIR) / folder);
  });
  return folders;
}

class Folder : public testing::TestWithParam<std::string> {};

TEST_P(Folder, IncludesOnlyWhatTheTableAllows) {
  const fs::path root = STARLING_SOURCE_DIR;
  int file_count = 0;
  for (const auto& violation : violations_in(root, GetParam(), file_count))
    ADD_FAILURE() << violation;
  EXPECT_GT(file_count, 0);
}

INSTANTIATE_TEST_SUITE_P(House, Folder, testing::ValuesIn(existing_folders()),
                         [](const auto& folder) { return folder.param; });

TEST(IncludeTable, ForbidsArrowsThatItDoesNotShow) {
  EXPECT_TRUE(include_violation("knn", "#include \"cpu/points/engine.hpp\""));
  EXPECT_TRUE(include_violation("cpu", "#include \"protocol/wire/messages.hpp\""));
  EXPECT_TRUE(include_violation("sim", "  #  include \"stream/server.hpp\"  // why not"));
  EXPECT_TRUE(include_violation("stream", "#include <cpu/points/engine.hpp>"));
}

TEST(IncludeTable, AllowsItsArrowsTheFolderItselfAndLibraries) {
  EXPECT_FALSE(include_violation("cpu", "#include \"knn/engine/engine.hpp\""));
  EXPECT_FALSE(include_violation("knn", "#include \"knn/engine/engine.hpp\""));
  EXPECT_FALSE(include_violation("apps", "#include \"cpu/points/engine.hpp\""));
  EXPECT_FALSE(include_violation("stream", "#include <boost/asio/io_context.hpp>"));
  EXPECT_FALSE(include_violation("cpu", "#include \"hwy/highway.h\""));
  EXPECT_FALSE(include_violation("cpu", "// #include \"stream/server.hpp\""));
}

TEST(IncludeTable, KeepsKnnOnTheStandardLibraryAlone) {
  EXPECT_FALSE(include_violation("knn", "#include <memory_resource>"));
  EXPECT_TRUE(include_violation("knn", "#include <immintrin.h>"));
  EXPECT_TRUE(include_violation("knn", "#include <boost/unordered/unordered_flat_map.hpp>"));
  EXPECT_TRUE(include_violation("knn", "#include \"hwy/highway.h\""));
}

TEST(IncludeTable, WantsPathsFromTheRoot) {
  EXPECT_TRUE(include_violation("cpu", "#include \"thread_pool.hpp\""));
}

}  // namespace
}  // namespace starling::house
