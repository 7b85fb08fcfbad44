// SPDX-License-Identifier: Apache-2.0
// Prints each flag's value and where the value came from: see check_config.hpp.
#include "starling/apps/check_config.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

#include "starling/apps/shared/config_file.hpp"
#include "starling/apps/shared/text/text_table.hpp"
#include "starling/knn/base/plain_text.hpp"

namespace starling::apps {

void keep_written_values(CLI::App& command, WrittenValues& values) {
  for (CLI::Option* const option : command.get_options())
    if (option->get_expected_max() > 0)
      option->transform(CLI::Validator(
          [&values, option](std::string& text) {
            values[option].push_back(text);
            return std::string();
          },
          ""));
}

int print_config(const CLI::App& command, const WrittenValues& values,
                 const std::vector<std::string>& faults) {
  TextTable table({{"flag"}, {"value"}, {"from"}});
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_group().empty()) continue;
    const std::string name = option->get_lnames().front();
    if (name == "help" || name == "check-config") continue;
    const bool is_switch = option->get_expected_max() == 0;
    const auto found = values.find(option);
    std::vector<std::string> texts;
    if (is_switch)
      texts = option->results();
    else if (found != values.end())
      texts = found->second;
    std::string value;
    for (const std::string& text : texts) value += (value.empty() ? "" : ",") + text;
    if (texts.empty()) value = is_switch ? "false" : option->get_default_str();
    table.add_row({name, value.empty() ? "-" : value,
                   source_of(*command.get_parent(), command, *option, texts)});
  }
  std::cout << table.str();
  for (const std::string& fault : faults)
    std::cerr << "starling serve: " << plain_text(fault) << '\n';
  if (faults.empty())
    std::cerr << "starling serve: nothing is wrong that can be seen without starting\n";
  return faults.empty() ? 0 : 1;
}

}  // namespace starling::apps
