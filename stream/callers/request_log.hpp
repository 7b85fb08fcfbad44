// SPDX-License-Identifier: Apache-2.0
// What the server's log is told of sessions and of requests that change something. A record is
// appended when its request has been applied, with the reply: recovery needs no limit, clock or
// right to apply it again. Without a log, the functions do nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/run.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/state/session_table.hpp"

namespace starling::stream {

/// Only the loop calls the functions, but runs().
class RequestLog {
 public:
  /// `journal` is null if the server has no log.
  RequestLog(Journal* journal, SessionTable& sessions) : journal_(journal), sessions_(sessions) {}

  Journal* journal() const { return journal_; }
  /// This run of the log and those before it; empty without a log. Any thread may call runs().
  std::vector<protocol::Run> runs() const;

  /// Returns why the log cannot take the request now; std::nullopt: it can, or the request needs no
  /// record. `is_fresh`: the request has a new sequence number. `bytes` are those of its frame.
  std::optional<protocol::Problem> refusal_of(const Caller& caller,
                                              const protocol::RequestBody& body, bool is_fresh,
                                              std::size_t bytes) const;

  /// Notes what the request changed that is recorded next: see record_codec.hpp.
  template <class... Arguments>
  void note_change(const Arguments&... arguments) {
    if (journal_ == nullptr) return;
    change_.clear();
    encode_change(arguments..., change_);
  }
  /// Appends the request with what note_change() got since the last call.
  void record(const Caller& caller, const protocol::Frame& reply);

  /// The log gets the record of a session that begins while it has no room with the session's first
  /// request that changes something. Sessions that only ask need no room.
  void record_begin_of_session(const Caller& caller, const SessionTable::Opened& opened,
                               std::uint64_t first_sequence);
  /// Appends the record of the caller's session if it is not there yet. Call it before a request of
  /// the session is appended.
  void record_session_late(const Caller& caller);
  void record_end_of_session(std::uint64_t session);
  /// Returns whether the log has a record of the session, or there is no log.
  bool has(std::uint64_t session) const { return !unrecorded_.contains(session); }

  /// Memory ran out while a request was applied. With a log, a request that is applied in part must
  /// not stay: what the tables hold would be nothing that the log can give again. Then throws
  /// std::runtime_error.
  void check_memory() const;

 private:
  void know(const Caller& caller);

  Journal* journal_;
  SessionTable& sessions_;
  RecordBytes change_;
  /// Sessions that the log does not know yet, and the number of the first request of each.
  std::unordered_map<std::uint64_t, std::uint64_t> unrecorded_;
};

}  // namespace starling::stream
