// SPDX-License-Identifier: Apache-2.0
// `starling serve --check-config`: prints what the server would use, and what is wrong with it.
// Called by serve.cpp.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace starling::apps {

/// The values of options as they were written, before any check changed them.
using WrittenValues = std::map<const CLI::Option*, std::vector<std::string>>;

/// Makes parsing keep the values of all options that the command has now. `values` must outlive the
/// parsing.
void keep_written_values(CLI::App& command, WrittenValues& values);

/// Prints a table of the command's options to the standard output, and the faults to the standard
/// error. Returns the exit status: 1 if there are faults.
int print_config(const CLI::App& command, const WrittenValues& values,
                 const std::vector<std::string>& faults);

}  // namespace starling::apps
