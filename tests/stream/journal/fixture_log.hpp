// SPDX-License-Identifier: Apache-2.0
// Writes and reads the logs in fixtures/, which the first program with a log wrote. Writing and
// reading use the same requests: a server that starts from a fixture must answer them again as it
// did then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "starling/stream/operation/options.hpp"

namespace starling::stream {

/// The spaces of the fixtures, and the names of their folders.
inline constexpr const char* fixture_names[] = {"planar2", "vector3"};

std::filesystem::path fixture_folder(const std::string& name);

/// Returns options for a server that starts from a copy of the fixture. Ticks are manual.
ServerOptions fixture_options(const std::string& name, const std::string& folder);

/// Copies the log of the fixture into `folder`.
void copy_fixture(const std::string& name, const std::filesystem::path& folder);

/// Replaces the log of the fixture by one that this program writes, without the zeros at the end of
/// each file.
void write_fixture(const std::string& name);

/// Starts a server from a copy of the fixture. Returns what the server answers: the epoch, its
/// state, and the replies to all requests of the sessions, which are sent again.
std::vector<std::string> told_by_fixture(const std::string& name);

}  // namespace starling::stream
