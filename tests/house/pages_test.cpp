// SPDX-License-Identifier: Apache-2.0
// A page that shows a file must show it unchanged, so that users copy code that the tests build and
// run.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

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

// Each code block of the page stands under a line that ends with a link to its file: "](path):".
TEST(Pages, EmbeddingShowsItsProgramsAsTheyAre) {
  const fs::path root = STARLING_SOURCE_DIR;
  std::istringstream page(text_of(root / "docs/embedding.md"));
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
  EXPECT_EQ(blocks, 4);
}

}  // namespace
}  // namespace starling::house
