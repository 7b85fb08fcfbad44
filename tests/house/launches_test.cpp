// SPDX-License-Identifier: Apache-2.0
// Checks that every kernel of gpu/vectors is launched by traced_launch. The tests of the published
// methods look at the traced kernels, so an untraced launch could hide that another method ran.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace starling::house {
namespace {

TEST(Launches, OfVectorKernelsAreAllTraced) {
  const std::filesystem::path root = STARLING_SOURCE_DIR;
  int traced = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root / "gpu/vectors")) {
    if (!file.is_regular_file()) continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      EXPECT_FALSE(line.find("<<<") != std::string::npos ||
                   line.find("cudaLaunch") != std::string::npos)
          << file.path() << " launches a kernel without traced_launch:\n"
          << line;
      if (line.find("traced_launch(") != std::string::npos) ++traced;
    }
  }
  EXPECT_GT(traced, 20);
}

}  // namespace
}  // namespace starling::house
