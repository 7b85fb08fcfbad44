// SPDX-License-Identifier: Apache-2.0
// Sessions: which sequence numbers of a producer are applied, and what they were answered with, so
// that a resend is answered again and not applied twice. Sans-IO; RequestHandler is its user.
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
  std::int64_t idle_us = 600'000'000;  ///< a session silent for longer is forgotten
  std::size_t replies_max = 1024;      ///< kept a session for resends
  // What one session may take of what is the server's, so that none takes all.
  std::uint64_t queries_max = 1u << 22;
  std::uint32_t streams_max = 1024;
  std::uint64_t names_max = 1u << 20;
};

/// What a session has taken for good: streams and names are never removed.
struct SessionTaken {
  std::uint64_t streams = 0;
  std::uint64_t names = 0;
};

/// What a sequenced request was answered with.
using SequencedReply =
    std::variant<protocol::ErrorReply, protocol::BatchReply, protocol::Done, protocol::TickDone>;

class SessionTable {
 public:
  /// `seed` keeps session ids of two runs of a server apart.
  SessionTable(const SessionLimits& limits, std::uint64_t seed);

  struct Opened {
    std::uint64_t session = 0;
    bool resumed = false;
    std::uint64_t last_sequence = 0;
    std::optional<std::uint64_t> replaced{};  ///< a session that is forgotten for this one
  };
  /// Continues `resume_session` if it lives, else opens a new one whose next number is
  /// `first_sequence`. When there are sessions_max, the new one takes the place of the oldest
  /// session that was opened and never used, which has nothing to lose; so a flood of Hellos keeps
  /// no client out. Nothing if all have been used.
  std::optional<Opened> open(std::uint64_t resume_session, std::uint64_t first_sequence,
                             std::int64_t now_us);

  /// Call for each request of the session; false if there is no such session.
  bool touch(std::uint64_t session, std::int64_t now_us);

  /// Forgets the idle ones, and says which.
  std::vector<std::uint64_t> expire(std::int64_t now_us);

  struct Admission {
    enum class Kind : std::uint8_t {
      fresh,       ///< apply it, then call answered
      unanswered,  ///< a resend of what is still under way
      resend,      ///< give `reply` again
      gap,         ///< not `expected`
      forgotten,   ///< applied, its reply is no longer kept
    };
    Kind kind = Kind::fresh;
    const SequencedReply* reply = nullptr;
    std::uint64_t expected = 0;  ///< the session's next number
  };
  /// What to do with a sequenced request of a known session. Changes nothing.
  Admission admit(std::uint64_t session, std::uint64_t sequence) const;

  /// The fresh `sequence` is used up; its reply is to follow.
  void begin(std::uint64_t session, std::uint64_t sequence);
  /// Its reply; a session forgotten meanwhile is no error.
  void answered(std::uint64_t session, std::uint64_t sequence, SequencedReply reply);

  /// 0 if there is no such session.
  std::uint64_t next_sequence(std::uint64_t session) const;

  /// To count in, of a known session.
  SessionTaken& taken(std::uint64_t session) { return sessions_.at(session).taken; }
  /// The most streams of any session, and the most names of any.
  SessionTaken most_taken() const;

  std::size_t count() const { return sessions_.size(); }

 private:
  struct Session {
    std::int64_t heard_us = 0;
    std::uint64_t last_sequence = 0;
    SessionTaken taken;
    std::deque<std::optional<SequencedReply>> replies;         ///< the last one is of last_sequence
    std::optional<std::list<std::uint64_t>::iterator> unused;  ///< its place in unused_, if there
  };
  using Sessions = std::unordered_map<std::uint64_t, Session>;

  void take_off_unused(Session& session);
  void forget(Sessions::iterator session);

  SessionLimits limits_;
  std::uint64_t next_session_;
  Sessions sessions_;
  std::list<std::uint64_t> unused_;  ///< opened and not heard of again, the oldest first
};

}  // namespace starling::stream
