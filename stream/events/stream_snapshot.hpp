// SPDX-License-Identifier: Apache-2.0
// The lists that a stream holds at one tick, as JSON. SnapshotFetch makes it; the answer of GET
// /v1/streams/NAME and the event `snapshot` contain it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/stream/events/list_text.hpp"

namespace starling::stream {

struct StreamSnapshot {
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t time_us = 0;
  std::uint64_t sequence = 0;
  std::uint64_t run = 0;            ///< the run of the server's log; 0: the server has no log
  std::uint64_t place = 0;          ///< place of the log after all records that the lists depend on
  std::vector<std::string> pieces;  ///< JSON arrays, each of at least one list
  std::size_t bytes = 0;            ///< bytes of all pieces
};

/// Appends the lists to the pieces of the snapshot. Returns false, with only some lists appended,
/// if the pieces would have more than `bytes_max` bytes.
bool append_lists(StreamSnapshot& snapshot, const protocol::ListChunk& lists, const ListForm& form,
                  std::size_t bytes_max);

/// Appends the fields that name the stream and the snapshot's tick.
void append_head(JsonText& json, const std::string& stream, const StreamSnapshot& snapshot);

/// Returns the whole snapshot as one JSON object.
std::string json_of(const std::string& stream, const StreamSnapshot& snapshot);

}  // namespace starling::stream
