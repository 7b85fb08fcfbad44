// SPDX-License-Identifier: Apache-2.0
// Turns a server's answers into text, so that tests can compare two servers, or one server before
// and after a restart.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/stream/support/raw_peer.hpp"

namespace starling::stream {

/// Thrown when a reply does not come.
class NoReply : public std::runtime_error {
 public:
  NoReply() : std::runtime_error("the server does not reply") {}
};

/// Sends a request that changes nothing and returns its reply. Throws NoReply.
using Ask = std::function<std::unique_ptr<RawReply>(const protocol::RequestBody&)>;

/// Whether a text has the times that a TickDone carries. They differ from run to run, but a resend
/// repeats them.
enum class TickTimes : std::uint8_t { told, left_out };

/// Returns the reply to a sequenced request, without its request id.
std::string told_reply(const RawReply& reply, TickTimes times = TickTimes::told);

/// Number of names that told_state() reads. Text told_name(i) is the name of
/// id_of_text(told_name(i)).
inline constexpr std::uint64_t told_names = 8;
inline std::string told_name(std::uint64_t index) {
  return "name " + std::to_string(index);
}

/// Returns everything that the server holds: the objects of the ids below `ids_end`, the names, all
/// streams with their queries and lists, and the answer to `question`. Leaves out the epoch.
std::vector<std::string> told_state(const Ask& ask, std::uint64_t ids_end,
                                    const protocol::QuerySpec& question);

}  // namespace starling::stream
