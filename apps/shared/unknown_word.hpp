// SPDX-License-Identifier: Apache-2.0
// Makes the error sentence for a mistyped command or flag, and suggestions for misspelt names.
// main.cpp calls describe_unknown_word() if the command line cannot be parsed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace starling::apps {

/// Call after a failed parse. Returns one sentence that names the unknown command or flag and the
/// one with the most similar name: "starling: unknown command 'serv'; did you mean 'serve'? ...",
/// "starling serve: unknown flag '--tik'; did you mean --tick? ...". Returns an empty text if the
/// failure has another reason.
std::string describe_unknown_word(const CLI::App& program);

/// Returns "; did you mean NAME?" with the name that has the smallest edit distance to `word`,
/// where - and _ count as the same letter. Returns an empty text if more than two letters differ.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

/// Returns the names of the commands of `app` that --help shows.
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace starling::apps
