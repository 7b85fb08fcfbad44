// SPDX-License-Identifier: Apache-2.0
// Makes flags accept only plain decimal numbers. Called by main.cpp after all flags are added.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::apps {

/// Makes all number options of `app` and of its subcommands refuse 010, 0x10, nan and inf, and -1
/// if the option is unsigned. Without these checks, CLI11 would for example read 010 as an octal
/// number, and nan would pass every range check. A float64 option gets the float64 that is nearest
/// to its text.
void make_numbers_strict(CLI::App& app);

}  // namespace starling::apps
