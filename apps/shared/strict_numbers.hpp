// Numbers of the command line as people write them. Called by main.cpp once all flags are there.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::apps {

/// Has all options of `app` and of its subcommands that take numbers refuse what CLI11 would read
/// otherwise than it is written, or let pass every check of a range: 010 (octal), 0x10, -1 where a
/// number has no sign, nan and inf.
void make_numbers_strict(CLI::App& app);

}  // namespace starling::apps
