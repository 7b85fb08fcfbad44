// SPDX-License-Identifier: Apache-2.0
// The commands and flags of the program as plain values, read from CLI11's tree. The man pages, the
// completions and the sample of the configuration file are made from these values, so that no flag
// is listed twice.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace starling::apps {

struct Flag {
  /// "-k" and "--k", short names first. For a positional: its name, without dashes.
  std::vector<std::string> names;
  std::string group;
  std::string description;
  std::string value;  ///< what to write for the value, such as DURATION; empty for a switch
  std::vector<std::string> choices;  ///< the allowed values; empty if the flag lists none
  std::string range;                 ///< such as "0 to 1023"; empty if every value is allowed
  std::string shown_default;         ///< empty if the flag has no default
  std::string variable;              ///< the environment variable; empty if the flag has none
  bool is_required = false;
  bool is_repeated = false;
  /// The least number of values that one use of the flag takes.
  int value_count = 1;

  bool takes_value() const { return !value.empty(); }
  /// Returns whether the value may be the path of a file or a folder.
  bool may_be_path() const;
};

struct Command {
  std::vector<std::string> path;  ///< such as {"starling", "put", "query"}
  std::string summary;            ///< one line without a full stop
  std::string details;            ///< the further lines of the description; may be empty
  std::string footer;
  std::vector<Flag> flags;  ///< flags as --help sorts them
  std::vector<Flag> positionals;
  std::vector<Command> commands;
  bool needs_command = false;  ///< one of `commands` must follow
};

/// Reads the tree below `program`. Flags and commands that --help does not show are left out.
/// Values that depend on this machine are left out, too, so that every machine writes the same
/// documents.
Command flag_tree(const CLI::App& program);

/// Joins words. For example, a path and "-" give "starling-put-query".
std::string joined(const std::vector<std::string>& words, const std::string& between);

/// Returns the text up to the end of its first sentence, without the full stop.
std::string first_sentence(const std::string& text);

/// Returns the command and all commands below it.
std::vector<const Command*> all_commands(const Command& command);

}  // namespace starling::apps
