// SPDX-License-Identifier: Apache-2.0
// Checks that each row of the limit table has a flag of `serve`, a line of `info`, a gauge of
// /metrics and a row of docs/limits.md.
#include "starling/stream/operation/limit_table.hpp"

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/stream/operation/metric_table.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using ::testing::HasSubstr;

std::string output_of(const std::string& arguments) {
  const std::string command = STARLING_PROGRAM " " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t count = fread(buffer, 1, sizeof(buffer), pipe))
    output.append(buffer, count);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

std::string environment_of(std::string_view name) {
  std::string result = "STARLING_SERVE_";
  for (const char letter : name)
    result += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
  return result;
}

/// Returns the row that docs/limits.md must have for this limit.
std::string documented(const Limit& limit) {
  const std::string name(limit.name);
  const std::string flag =
      limit.is_settable() ? "`--" + name + "`" : "`" + name + "` (fixed by the protocol)";
  const std::string used = use_of(limit.name) == nullptr ? "" : " and `starling_limit_used`";
  std::ostringstream row;
  row << "| " << flag << " | " << limit.bounds << " | " << to_string(limit.of) << " | "
      << limit.field.get({}) << " | " << limit.reached << " | `starling_limit`" << used << " |\n";
  return row.str();
}

TEST(LimitTable, EveryLimitIsAFlagThatTheEnvironmentMaySet) {
  const std::string help = output_of("serve --help");
  for (const Limit& limit : limit_table()) {
    const std::string flag = "--" + std::string(limit.name) + " ";
    EXPECT_EQ(help.find(flag) != std::string::npos, limit.is_settable()) << flag;
    if (limit.is_settable()) {
      EXPECT_THAT(help, HasSubstr("(Env:" + environment_of(limit.name) + ")"));
    }
  }
}

TEST(LimitTable, InfoShowsTheDefaultsAndARunningServersValuesAndUse) {
  const std::string defaults = output_of("info");
  ServerOptions options = manual_options();
  options.sessions.sessions_max = 77;
  options.processor.space.space = Space::vector;
  options.processor.space.dimension = 3;
  options.processor.space.metric = Metric::cosine;
  const RunningServer server(options);
  const std::string running = output_of("info --connect " + server.endpoints().commands);
  for (const Limit& limit : limit_table())
    for (const std::string& shown : {defaults, running})
      EXPECT_THAT(shown, HasSubstr("  " + std::string(limit.name) + " "));
  EXPECT_THAT(running, ::testing::ContainsRegex("sessions-max +77 +1 +server"));
  EXPECT_THAT(running, ::testing::ContainsRegex("space +vector:3 cosine\n"));
}

TEST(LimitTable, MetricsHaveAGaugeOfEveryLimitAndOfItsUse) {
  const ServerOptions options = manual_options();
  const RunningServer server(options);
  const std::string metrics = http_get(server.endpoints().http, "/metrics");
  for (const Limit& limit : limit_table()) {
    const std::string label = "{name=\"" + std::string(limit.name) + "\"} ";
    EXPECT_THAT(metrics, HasSubstr("starling_limit" + label));
    EXPECT_EQ(metrics.find("starling_limit_used" + label) != std::string::npos,
              use_of(limit.name) != nullptr)
        << limit.name;
  }
}

TEST(LimitTable, EveryValueIsReadFromWhereItIsWritten) {
  for (const Limit& limit : limit_table()) {
    if (!limit.is_settable()) continue;
    ServerOptions options;
    limit.field.set(options, 7);
    EXPECT_EQ(limit.field.get(options), 7u) << limit.name;
    for (const Limit& other : limit_table()) {
      if (other.name != limit.name) {
        EXPECT_EQ(other.field.get(options), other.field.get({})) << limit.name << other.name;
      }
    }
  }
}

TEST(LimitTable, EveryLimitIsARowOfThePage) {
  std::ifstream file(STARLING_SOURCE_DIR "/docs/limits.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const Limit& limit : limit_table()) EXPECT_THAT(page.str(), HasSubstr(documented(limit)));
}

}  // namespace
}  // namespace starling::stream
