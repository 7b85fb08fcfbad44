// SPDX-License-Identifier: Apache-2.0
// `starling serve --check-config`: prints the settings that the server would use, and their faults.
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

/// Makes parsing copy the values of the command's options to `values`, which must outlive the
/// parsing. Call after all options are added.
void keep_written_values(CLI::App& command, WrittenValues& values);

/// Prints a table of the command's options to the standard output, and the faults to the standard
/// error. Returns the exit status: 1 if there are faults.
int print_config(const CLI::App& command, const WrittenValues& values,
                 const std::vector<std::string>& faults);

}  // namespace starling::apps
