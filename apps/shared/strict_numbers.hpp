// SPDX-License-Identifier: Apache-2.0
// Makes flags accept only plain decimal numbers. Called by main.cpp after all flags are added.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::apps {

/// Makes all number options of `app` and of its subcommands refuse 010 (CLI11 reads octal), 0x10,
/// -1 for unsigned numbers, nan and inf. CLI11 would read some of them as other numbers, and would
/// let others pass every range check.
void make_numbers_strict(CLI::App& app);

}  // namespace starling::apps
