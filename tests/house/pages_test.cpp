// SPDX-License-Identifier: Apache-2.0
// Checks the pages and the sources. A page that shows a file must show it unchanged, because the
// tests build and run the file and users copy what the page shows. A relative link must lead to a
// file or a folder that exists. Every source must name its licence.
#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace starling::house {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Before each code block, a line of the page ends with a link to the file that the block shows:
// "](path):".
void expect_programs_as_they_are(const std::string& name, int expected_blocks) {
  const fs::path root = STARLING_SOURCE_DIR;
  std::istringstream page(text_of(root / "docs" / name));
  std::string line;
  std::string link;
  int blocks = 0;
  while (std::getline(page, line)) {
    if (line.ends_with("):")) link = line.substr(line.rfind("](") + 2);
    if (!line.starts_with("```")) continue;
    std::string shown;
    while (std::getline(page, line) && line != "```") shown += line + '\n';
    ASSERT_FALSE(link.empty()) << "a code block without its file:\n" << shown;
    const fs::path file = root / "docs" / link.substr(0, link.size() - 2);
    EXPECT_EQ(shown, text_of(file)) << file;
    link.clear();
    ++blocks;
  }
  EXPECT_EQ(blocks, expected_blocks);
}

TEST(Pages, EmbeddingShowsItsProgramsAsTheyAre) {
  expect_programs_as_they_are("embedding.md", 7);
}

TEST(Pages, TheCInterfaceShowsItsProgramsAsTheyAre) {
  expect_programs_as_they_are("c.md", 6);
}

TEST(Pages, TheReadmeShowsTheShortestProgramAsItIs) {
  const fs::path root = STARLING_SOURCE_DIR;
  const std::string page = text_of(root / "README.md");
  const std::string fence = "```cpp\n";
  const std::size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t first = begin + fence.size();
  const std::string shown = page.substr(first, page.find("```", first) - first);
  const std::string program = text_of(root / "examples/ask.cpp");
  EXPECT_EQ(shown, program.substr(program.find("#include")));
}

/// Calls `look` with each file of the checkout, except those below a folder named "build", ".git"
/// or "node_modules".
void for_each_file(const std::function<void(const fs::path&)>& look) {
  const fs::path root = STARLING_SOURCE_DIR;
  for (auto file = fs::recursive_directory_iterator(root); file != fs::end(file); ++file) {
    const std::string name = file->path().filename();
    if (file->is_directory() && (name == "build" || name == ".git" || name == "node_modules"))
      file.disable_recursion_pending();
    if (file->is_regular_file()) look(file->path());
  }
}

/// Returns the page's text without its code blocks and code spans. Text in these may look like a
/// link and not be one.
std::string without_code(const fs::path& page) {
  std::istringstream lines(text_of(page));
  std::string line;
  std::string prose;
  bool is_code = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("```")) is_code = !is_code;
    if (!is_code) prose += line + '\n';
  }
  return std::regex_replace(prose, std::regex("`[^`\n]*`"), "");
}

TEST(Pages, EveryRelativeLinkLeadsSomewhere) {
  const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  int links = 0;
  for_each_file([&](const fs::path& page) {
    if (page.extension() != ".md") return;
    const std::string prose = without_code(page);
    for (auto found = std::sregex_iterator(prose.begin(), prose.end(), link);
         found != std::sregex_iterator(); ++found) {
      const std::string target = (*found)[1];
      if (target.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / target)) << page << " links to " << target;
      ++links;
    }
  });
  EXPECT_GT(links, 100);
}

TEST(Pages, EverySourceNamesItsLicence) {
  constexpr std::array<std::string_view, 16> kinds{".c",   ".h",   ".cpp", ".hpp",   ".cu", ".cuh",
                                                   ".fbs", ".map", ".py",  ".cmake", ".in", ".yml",
                                                   ".ts",  ".tsx", ".css", ".html"};
  constexpr std::size_t head_bytes = 200;
  int sources = 0;
  for_each_file([&](const fs::path& file) {
    const bool is_script = file.parent_path().filename() == "scripts" && !file.has_extension();
    if (!is_script && file.filename() != "CMakeLists.txt" &&
        std::ranges::find(kinds, file.extension().string()) == kinds.end())
      return;
    EXPECT_NE(text_of(file).substr(0, head_bytes).find("SPDX-License-Identifier: Apache-2.0"),
              std::string::npos)
        << file << ": begin it with a comment like that of the other files";
    ++sources;
  });
  EXPECT_GT(sources, 500);
}

}  // namespace
}  // namespace starling::house
