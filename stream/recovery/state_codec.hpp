// SPDX-License-Identifier: Apache-2.0
// Turns a LoggedState into the records of a snapshot (log/snapshot.hpp) and back. The state is cut
// into sections. Each section is an array, and a record has some elements of one section.
// make_snapshot.cpp uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "starling/log/reader.hpp"
#include "starling/stream/recovery/logged_state.hpp"

namespace starling::stream {

/// The version of the sections. A program reads the versions up to its own.
inline constexpr std::uint16_t state_version = 1;

using StateRecordHandler =
    std::function<void(log::RecordType type, std::span<const std::byte> payload)>;

/// Gives all records of the state to `handler`.
void encode_state(const LoggedState& state, const StateRecordHandler& handler);

/// Adds what a record says to the state. Throws UnknownRecord, with a sentence.
void decode_state(const log::Record& record, LoggedState& state);

}  // namespace starling::stream
