// SPDX-License-Identifier: Apache-2.0
// Runs the curl commands of docs/http.md, in their order, against a server, and compares the
// answers with the page. The section of vectors has a server of its own. A server ticks after each
// change, and while events are read.
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/stream/support/event_client.hpp"
#include "tests/stream/support/http_client.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

constexpr std::int64_t page_time_us = 1'772'366'400'000'000;  // 2026-03-01T12:00:00Z

constexpr const char* roads =
    "{\"name\":\"city.net.xml\",\"lines\":[[0,0,100,0],[100,0,150,50,150,120]]}\n";

/// Splits a command into words, as a shell does with single quotes.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  bool is_quoted = false;
  bool is_in_word = false;
  for (const char letter : command) {
    if (letter == '\'') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (letter == ' ' || letter == '\n')) {
      is_in_word = false;
    } else {
      if (!is_in_word) words.emplace_back();
      is_in_word = true;
      words.back() += letter;
    }
  }
  return words;
}

struct Command {
  std::string method = "GET";
  std::string target;
  std::string body;
  HttpClient::Fields fields;
  bool is_endless = false;  ///< whether the answer ends only with --max-time
};

Command command_of(std::string_view text) {
  const auto words = words_of(text);
  const std::string origin = "http://localhost:7413";
  Command command;
  EXPECT_EQ(words.at(0), "curl");
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-X") {
      command.method = words.at(++i);
    } else if (words[i] == "-H") {
      const std::string& field = words.at(++i);
      command.fields.emplace_back(field.substr(0, field.find(':')),
                                  field.substr(field.find(':') + 2));
    } else if (words[i] == "-N") {
      command.is_endless = true;
    } else if (words[i] == "--max-time") {
      ++i;
    } else if (words[i] == "-d" || words[i] == "--data-binary") {
      command.body = words.at(++i);
      if (command.method == "GET") command.method = "POST";
    } else {
      EXPECT_TRUE(words[i].starts_with(origin)) << words[i];
      command.target = words[i].substr(origin.size());
    }
  }
  return command;
}

/// Returns the page's blocks in this language, from `from` on, and sets `from` to the end.
std::string next_block(const std::string& page, const std::string& language, std::size_t& from) {
  const std::string opening = "\n```" + language + "\n";
  const std::size_t begin = page.find(opening, from);
  if (begin == std::string::npos) return {};
  const std::size_t end = page.find("\n```\n", begin + opening.size());
  from = end;
  return page.substr(begin + opening.size(), end - begin - opening.size());
}

/// Replaces the epoch, which is random, by 1.
std::string without_epoch(const std::string& text) {
  static const std::regex in_id("id: [0-9]+-");
  static const std::regex in_data("\"epoch\":\"[0-9]+\"");
  return std::regex_replace(std::regex_replace(text, in_id, "id: 1-"), in_data, "\"epoch\":\"1\"");
}

std::size_t events_in(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("event: "); at != std::string::npos;
       at = text.find("event: ", at + 1))
    ++count;
  return count;
}

/// Reads `count` events, and calls `tick` before all but the first.
std::string events_of(const std::string& endpoint, const Command& command, std::size_t count,
                      const std::function<void()>& tick) {
  const std::string path = "/v1/streams/";
  const std::string name = command.target.substr(path.size());
  EventClient reader({.endpoint = endpoint,
                      .stream = name.substr(0, name.find('/')),
                      .space = Space::wgs84,
                      .keeps_texts = true});
  EXPECT_EQ(reader.connect(), 200u);
  for (std::size_t i = 1; i <= count; ++i) {
    if (i > 1) tick();
    EXPECT_TRUE(reader.read_until([&] { return reader.counts().events == i; }));
  }
  return reader.texts();
}

/// Returns the page in two parts: the page without the section of vectors, and this section.
std::pair<std::string, std::string> parts_of_page() {
  std::ifstream file(STARLING_SOURCE_DIR "/docs/http.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string page = text.str();
  const std::size_t begin = page.find("\n## Vectors\n");
  const std::size_t end = page.find("\n## ", begin + 1);
  const std::string vectors = page.substr(begin, end - begin);
  return {page.erase(begin, end - begin), vectors};
}

/// Runs the commands of the text, and returns their number.
std::size_t run_commands(const std::string& text, const SpaceOptions& space) {
  ServerOptions options = manual_options();
  options.processor.space = space;
  options.network = std::make_shared<const std::string>(roads);
  const RunningServer server(options);
  HttpClient http(server.endpoints().http);
  auto client = server.client();
  std::int64_t tau_us = page_time_us + 1'000'000;
  EXPECT_TRUE(client.advance_tick(tau_us));
  std::size_t at = 0;
  std::size_t commands = 0;
  for (std::string block; !(block = next_block(text, "sh", at)).empty(); ++commands) {
    const Command command = command_of(block);
    if (command.is_endless) {
      const std::string expected = next_block(text, "text", at) + "\n\n";
      const auto tick = [&] { EXPECT_TRUE(client.advance_tick(tau_us += 1'000'000)); };
      const std::string events =
          events_of(server.endpoints().http, command, events_in(expected), tick);
      EXPECT_EQ(without_epoch(events), without_epoch(expected)) << block;
      continue;
    }
    const HttpReply reply = http.ask(command.method, command.target, command.body, command.fields);
    EXPECT_EQ(without_epoch(reply.body), without_epoch(next_block(text, "json", at) + "\n"))
        << block;
    const bool is_change = command.method != "GET" && command.target != "/v1/neighbors";
    if (is_change) {
      EXPECT_TRUE(client.advance_tick(tau_us += 1'000'000));
    }
  }
  return commands;
}

TEST(HttpPage, EachCommandHasTheAnswerThatFollowsIt) {
  const auto [positions, vectors] = parts_of_page();
  EXPECT_EQ(run_commands(positions, {.space = Space::wgs84}), 17u);
  const SpaceOptions space{.space = Space::vector, .dimension = 3, .metric = Metric::cosine};
  EXPECT_EQ(run_commands(vectors, space), 3u);
}

}  // namespace
}  // namespace starling::stream
