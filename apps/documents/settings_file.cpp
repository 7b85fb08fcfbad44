// SPDX-License-Identifier: Apache-2.0
// Writes the sample configuration file: see settings_file.hpp.
#include "starling/apps/documents/settings_file.hpp"

#include <cstddef>
#include <regex>
#include <sstream>

namespace starling::apps {
namespace {

constexpr std::size_t line_bytes_max = 98;

/// Returns `text` as TOML comments, in lines of at most line_bytes_max bytes.
std::string comment(const std::string& text) {
  std::string lines;
  std::string line = "#";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > line_bytes_max) {
      lines += line + "\n";
      line = "#";
    }
    line += " " + word;
  }
  return lines + line + "\n";
}

std::string toml_value(const Flag& flag) {
  if (!flag.takes_value()) return "false";
  if (flag.shown_default.empty())
    return flag.value_count > 1 || flag.is_repeated ? "[" + flag.value + ", ...]" : flag.value;
  static const std::regex number(R"([0-9]+(\.[0-9]+)?)");
  const bool is_number = std::regex_match(flag.shown_default, number);
  return is_number ? flag.shown_default : "\"" + flag.shown_default + "\"";
}

}  // namespace

std::string settings_file(const Command& serve) {
  std::string text =
      "# The settings of the server, read by `starling serve --config FILE`.\n"
      "# Every setting stands in a comment with its default. A word in capitals stands for a "
      "value\n"
      "# that has no default. Remove the # before a setting and write your value. A variable such\n"
      "# as STARLING_SERVE_TICK overrides the file. `starling serve --config FILE --check-config`\n"
      "# says what is wrong with it.\n\n"
      "[serve]\n";
  std::string group;
  for (const Flag& flag : serve.flags) {
    const std::string name = flag.names.back().substr(2);
    if (name == "help" || name == "check-config") continue;
    if (flag.group != group) text += "\n# " + flag.group + "\n";
    group = flag.group;
    text += "\n" + comment(flag.description + ".");
    if (!flag.choices.empty()) text += comment("One of " + joined(flag.choices, ", ") + ".");
    text += "#" + name + " = " + toml_value(flag) + "\n";
  }
  return text;
}

}  // namespace starling::apps
