// SPDX-License-Identifier: Apache-2.0
// Holds the table of metrics in docs/operating.md against the metrics of a server.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

std::multiset<std::string> names_in(const std::string& text, const std::string& expression) {
  const std::regex pattern(expression, std::regex::multiline);
  std::multiset<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

TEST(OperatingPage, HasEachMetricOfAServerOnceAndNoOther) {
  std::ifstream file(STARLING_SOURCE_DIR "/docs/operating.md");
  std::stringstream page;
  page << file.rdbuf();
  const RunningServer server(manual_options());
  const std::string metrics = http_get(server.endpoints().http, "/metrics");
  const auto served = names_in(metrics, "^# HELP (starling_[a-z_]+) ");
  EXPECT_GT(served.size(), 20u);
  EXPECT_EQ(names_in(page.str(), "^\\| `(starling_[a-z_]+)` \\|"), served);
}

}  // namespace
}  // namespace starling::stream
