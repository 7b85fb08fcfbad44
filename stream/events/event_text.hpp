// SPDX-License-Identifier: Apache-2.0
// The texts of Server-Sent Events: https://html.spec.whatwg.org/multipage/server-sent-events.html.
// docs/http.md describes the events for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/events/list_text.hpp"
#include "starling/stream/events/stream_snapshot.hpp"

namespace starling::stream {

/// A text that all readers of a stream share.
using EventText = std::shared_ptr<const std::string>;

/// The place of an event in its stream. The event's `id` has these numbers.
struct EventId {
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  // The run and the place of the server's log: see protocol::RunPlace. 0: the server has no log.
  std::uint64_t run = 0;
  std::uint64_t place = 0;
};
/// Parses the `id` of an event. Returns std::nullopt if `text` has another form.
std::optional<EventId> parse_event_id(std::string_view text);

/// Returns one event for each piece of the snapshot. Only the last event has an id.
std::vector<EventText> snapshot_events(const std::string& stream, const StreamSnapshot& snapshot);
/// Returns the event of a tick; null if it would have more than `bytes_max` bytes.
EventText tick_event(const protocol::DecodedTick& tick, const ListForm& form,
                     std::size_t bytes_max);
EventText gap_event(std::uint64_t missed);
EventText restarted_event();
EventText removed_event(const std::string& stream);
/// Returns the last event of a connection, which says why the lists are refused.
EventText refused_event(const protocol::Problem& problem);
/// Returns a comment that keeps an idle connection open. Clients ignore it.
EventText heartbeat_text();

}  // namespace starling::stream
