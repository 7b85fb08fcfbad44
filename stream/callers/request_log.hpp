// SPDX-License-Identifier: Apache-2.0
// Appends sessions, and requests that change something, to the server's log. A request is appended
// after it was applied, together with its reply, so recovery applies it again without checking
// limits, clocks or rights. Without a log, the functions do nothing.
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

/// Only the loop calls the functions, except runs(), which any thread may call.
class RequestLog {
 public:
  /// `journal` is null if the server has no log.
  RequestLog(Journal* journal, SessionTable& sessions) : journal_(journal), sessions_(sessions) {}

  Journal* journal() const { return journal_; }
  /// Returns this run of the log and all earlier runs; empty without a log.
  std::vector<protocol::Run> runs() const;

  /// Returns why the log cannot take the request now; std::nullopt: it can, or the request needs no
  /// record. `is_fresh`: the request has a new sequence number. `bytes` is the size of its frame.
  std::optional<protocol::Problem> refusal_of(const Caller& caller,
                                              const protocol::RequestBody& body, bool is_fresh,
                                              std::size_t bytes) const;

  /// Keeps the change for the next record(), in place of an earlier one. The arguments are those of
  /// encode_change() in record_codec.hpp.
  template <class... Arguments>
  void note_change(const Arguments&... arguments) {
    if (journal_ == nullptr) return;
    change_.clear();
    encode_change(arguments..., change_);
  }
  /// Appends the request with its reply and the change that note_change() keeps, if there is one.
  void record(const Caller& caller, const protocol::Frame& reply);

  /// Appends the record of a session that begins. If the log has no room, its record is appended
  /// later, with the session's first request that changes something. Other sessions need no record.
  void record_begin_of_session(const Caller& caller, const SessionTable::Opened& opened,
                               std::uint64_t first_sequence);
  /// Appends the record of the caller's session if the log does not have it. Call it before a
  /// request of the session is appended.
  void record_session_late(const Caller& caller);
  void record_end_of_session(std::uint64_t session);
  /// Returns whether the log has a record of the session, or there is no log.
  bool has(std::uint64_t session) const { return !unrecorded_.contains(session); }

  /// Call it when memory ran out while a request was applied. With a log, throws
  /// std::runtime_error: the tables may hold a part of the request, and recovery could not restore
  /// that.
  void check_memory() const;

 private:
  void know(const Caller& caller);

  Journal* journal_;
  SessionTable& sessions_;
  RecordBytes change_;
  /// The first sequence number of each session that the log has no record of. The key is the
  /// session's id.
  std::unordered_map<std::uint64_t, std::uint64_t> unrecorded_;
};

}  // namespace starling::stream
