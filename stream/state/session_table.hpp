// SPDX-License-Identifier: Apache-2.0
// Sessions: the last sequence number of each client, and the last replies to each client. A request
// that is sent again gets the same reply and is not applied twice. RequestHandler owns the table
// and passes the time to its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "starling/protocol/wire/messages.hpp"

namespace starling::stream {

struct SessionLimits {
  std::uint32_t sessions_max = 1024;
  std::int64_t idle_us = 600'000'000;  ///< a session that is silent for longer ends
  std::size_t replies_max = 1024;      ///< kept for each session, for resends
  // How much of the limits of the whole server one session may use.
  std::uint64_t queries_max = 1u << 22;
  std::uint32_t streams_max = 1024;
  std::uint64_t names_max = 1u << 20;
};

/// The numbers of streams and names that a session has created. Streams and names are never
/// removed.
struct SessionTaken {
  std::uint64_t streams = 0;
  std::uint64_t names = 0;
};

/// The reply to a sequenced request.
using SequencedReply =
    std::variant<protocol::ErrorReply, protocol::BatchReply, protocol::Done, protocol::TickDone>;

class SessionTable {
 public:
  /// `seed` is random, so that two runs of a server use different session ids.
  SessionTable(const SessionLimits& limits, std::uint64_t seed);

  struct Opened {
    std::uint64_t session = 0;
    bool resumed = false;
    std::uint64_t last_sequence = 0;
    std::optional<std::uint64_t> replaced{};  ///< the old session that the new session replaces
  };
  /// Resumes `resume_session` if it exists. Otherwise opens a new session that begins with
  /// `first_sequence`. If there are already sessions_max sessions, the new session replaces the
  /// oldest session that was opened and never used. A flood of Hello requests therefore keeps no
  /// other client out. Returns std::nullopt if there are sessions_max sessions and all of them have
  /// been used.
  std::optional<Opened> open(std::uint64_t resume_session, std::uint64_t first_sequence,
                             std::int64_t now_us);

  /// Marks the session as used. Call it for each request. Returns false if there is no such
  /// session.
  bool touch(std::uint64_t session, std::int64_t now_us);

  /// Forgets the idle sessions and returns them.
  std::vector<std::uint64_t> expire(std::int64_t now_us);

  struct Admission {
    enum class Kind : std::uint8_t {
      fresh,       ///< the next number: call begin(), and later answered()
      unanswered,  ///< sent again while the request is still being carried out
      resend,      ///< sent again: answer with `reply`
      gap,         ///< the number is greater than `expected`
      forgotten,   ///< applied before, and the reply is no longer kept
    };
    Kind kind = Kind::fresh;
    const SequencedReply* reply = nullptr;
    std::uint64_t expected = 0;  ///< the session's next number
  };
  /// Says what to do with a sequenced request of a session in the table. Changes nothing.
  Admission admit(std::uint64_t session, std::uint64_t sequence) const;

  /// Uses up the fresh number `sequence`. Pass the reply to answered() later.
  void begin(std::uint64_t session, std::uint64_t sequence);
  /// Keeps the reply. Does nothing if the session was forgotten meanwhile.
  void answered(std::uint64_t session, std::uint64_t sequence, SequencedReply reply);

  /// Returns the number that the session must send next; 0 if there is no such session.
  std::uint64_t next_sequence(std::uint64_t session) const;

  /// What the session has created so far. The caller increments the counts. The session must be in
  /// the table.
  SessionTaken& taken(std::uint64_t session) { return sessions_.at(session).taken; }
  /// Returns the most streams and the most names of any session. The streams may be of one session
  /// and the names of another.
  SessionTaken most_taken() const;

  std::size_t count() const { return sessions_.size(); }

 private:
  struct Session {
    std::int64_t heard_us = 0;
    std::uint64_t last_sequence = 0;
    SessionTaken taken;
    std::deque<std::optional<SequencedReply>> replies;  ///< ends with the reply to last_sequence
    std::optional<std::list<std::uint64_t>::iterator> unused;  ///< its entry in unused_, if any
  };
  using Sessions = std::unordered_map<std::uint64_t, Session>;

  void take_off_unused(Session& session);
  void forget(Sessions::iterator session);

  SessionLimits limits_;
  std::uint64_t next_session_;
  Sessions sessions_;
  std::list<std::uint64_t> unused_;  ///< opened and never used, the oldest first
};

}  // namespace starling::stream
