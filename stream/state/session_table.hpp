// SPDX-License-Identifier: Apache-2.0
// The table of sessions. The table keeps each session's last sequence number and last replies. A
// request that is sent again gets the same reply and is not applied twice. A session belongs to the
// connection that has opened or resumed it last. Its id is random: a client that does not know the
// id can neither use nor resume the session. Callers has the table. The caller passes the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/state/awake_clock.hpp"
#include "starling/stream/turns/places.hpp"
#include "starling/stream/zmtp/authentication.hpp"

namespace starling::stream {

struct SessionLimits {
  std::uint32_t sessions_max = 1024;
  std::uint32_t connection_sessions_max = 64;  ///< the most sessions of one connection
  /// A session ends after a longer time without a request. Time in which the server itself stood
  /// still does not count, here and in gives_way_us.
  std::int64_t idle_us = 600'000'000;
  /// A session that was silent for this long may give way to a new one. The C++ client waits this
  /// long for a reply (ClientOptions::timeout_ms), so a client that still resends is not silent.
  std::int64_t gives_way_us = 30'000'000;
  std::size_t replies_max = 1024;  ///< replies that each session keeps, for resends
  // The most queries, streams and names of one session. The whole server has limits of its own.
  std::uint64_t queries_max = 1u << 22;
  std::uint32_t streams_max = 1024;
  std::uint64_t names_max = 1u << 20;
};

/// The number of existing streams that a session has created, and the number of names that it was
/// the first to send. Names are never removed.
struct SessionTaken {
  std::uint64_t streams = 0;
  std::uint64_t names = 0;
};

/// The principal and the address of the connection that opens a session.
struct SessionOwner {
  zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
  PeerAddress address{};
  /// The most sessions of this principal.
  std::uint64_t sessions_max = std::numeric_limits<std::uint64_t>::max();
  /// Whether SessionLimits::connection_sessions_max applies. It does not apply to the server's own
  /// endpoints.
  bool has_connection = true;
};

/// The reply to a sequenced request.
using SequencedReply =
    std::variant<protocol::ErrorReply, protocol::BatchReply, protocol::Done, protocol::TickDone>;

class SessionTable {
 public:
  /// `random` returns 64 bits that no client can predict. They become the ids of sessions.
  /// `has_arriving` returns whether the server holds requests of a session that have not reached
  /// the table yet. The session then does not give way.
  SessionTable(
      const SessionLimits& limits, std::function<std::uint64_t()> random,
      std::function<bool(std::uint64_t session)> has_arriving = [](std::uint64_t) {
        return false;
      });

  /// A session that was forgotten. Unlike the id, the number may be shown in the log.
  struct Forgotten {
    std::uint64_t session = 0;
    std::uint64_t number = 0;
    bool operator==(const Forgotten&) const = default;
  };

  /// The result of open().
  struct Opened {
    std::uint64_t session = 0;
    bool resumed = false;
    std::uint64_t last_sequence = 0;      ///< all requests up to this number are answered
    std::optional<Forgotten> replaced{};  ///< the session that gave way
  };
  /// Resumes `resume_session` for `connection` if the session exists and belongs to the same
  /// principal. Otherwise opens a new session, whose first request has the number `first_sequence`.
  /// If there are already sessions_max sessions, an old session gives way. The first choice is the
  /// oldest session that was never used, so that a flood of Hello requests keeps no other client
  /// out. The second choice is the session that has been silent longest, for at least gives_way_us,
  /// and has no unanswered request. If no session may give way, opens none and returns
  /// std::nullopt. If the principal or the connection has as many sessions as it may have, or the
  /// owner has more than its share, one of its own sessions gives way, by the
  /// same rules. A session that a connection resumes counts as a new session of the connection.
  ///
  /// The share is three times the number of free sessions. So one holder may have three quarters of
  /// all, several have fewer each, and another one finds a free session. A session that was heard
  /// lately never gives way, also not to a holder that has none: its client would lose track of
  /// which requests were applied.
  std::optional<Opened> open(std::uint64_t connection, std::uint64_t resume_session,
                             std::uint64_t first_sequence, std::int64_t now_us,
                             const SessionOwner& owner = {});

  /// Returns whether the principal has this session, on any connection.
  bool has(zmtp::PrincipalId principal, std::uint64_t session) const;
  std::size_t count_of(zmtp::PrincipalId principal) const;
  std::size_t count_of(std::uint64_t connection) const;
  std::size_t count_of(const RequestOwner& holder) const;
  /// Returns the most sessions of any connection. Sessions from the log that no client has resumed
  /// do not count.
  std::size_t most_of_connection() const;

  bool contains(std::uint64_t session) const { return sessions_.contains(session); }
  /// Returns true if the session exists and belongs to the connection.
  bool owns(std::uint64_t connection, std::uint64_t session) const;
  /// Marks the session as used at `now_us`. Call touch() for each request. Returns false, and does
  /// nothing, if the session does not exist or belongs to another connection.
  bool touch(std::uint64_t connection, std::uint64_t session, std::int64_t now_us);

  /// Forgets the session. Returns false, and does nothing, if the session does not exist or belongs
  /// to another connection.
  bool end(std::uint64_t connection, std::uint64_t session);
  /// The part of a session that outlives a restart.
  struct SessionState {
    struct Sent {
      std::uint64_t body_hash = 0;
      std::optional<SequencedReply> reply;
    };
    std::uint64_t session = 0;
    std::uint64_t number = 0;
    zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
    std::uint64_t last_sequence = 0;
    SessionTaken taken;
    std::vector<Sent> sent;  ///< the last requests; the newest has the number last_sequence
  };
  /// Returns all sessions, in the order in which they give way.
  std::vector<SessionState> export_state() const;

  // The functions up to forget() are for a server that starts with a log.
  /// Adds a session of export_state(). It belongs to no connection until a client resumes it.
  void import_session(const SessionState& state, std::int64_t now_us);
  /// Adds a session whose begin is in the log. It belongs to no connection until a client resumes
  /// it.
  void restore(std::uint64_t session, std::uint64_t first_sequence, std::int64_t now_us,
               zmtp::PrincipalId principal);
  /// Uses up `sequence`, and all numbers before it, as begin() does. Does nothing if the session
  /// does not exist.
  void restore_begun(std::uint64_t session, std::uint64_t sequence, std::uint64_t body_hash);
  /// Forgets the session, whichever connection it belongs to. Does nothing if it does not exist.
  void forget(std::uint64_t session);

  /// Forgets the idle sessions and returns them.
  std::vector<Forgotten> expire(std::int64_t now_us);

  struct Admission {
    enum class Kind : std::uint8_t {
      fresh,       ///< the number is `expected`: call begin(), and later answered()
      unanswered,  ///< the request was sent before and is still being carried out
      resend,      ///< the request was sent before: answer with `reply`
      different,   ///< another request was sent before with this number
      gap,         ///< the number is greater than `expected`
      forgotten,   ///< the number is before `expected`, and no reply to it is kept
    };
    Kind kind = Kind::fresh;
    const SequencedReply* reply = nullptr;
    std::uint64_t expected = 0;  ///< the session's next number
  };
  /// Returns what to do with the request that has this sequence number and a body with this hash.
  /// The session must be in the table. Changes nothing.
  Admission admit(std::uint64_t session, std::uint64_t sequence, std::uint64_t body_hash) const;

  /// Uses up `sequence`, the session's next number. Pass the reply to answered() later.
  void begin(std::uint64_t session, std::uint64_t sequence, std::uint64_t body_hash);
  /// Returns the hash that begin() got with this number; 0 if the session does not keep it.
  std::uint64_t body_hash_of(std::uint64_t session, std::uint64_t sequence) const;
  /// Frees the number of a request that could not be carried out. Does nothing if the request is
  /// not the session's last request, or has a reply.
  void take_back(std::uint64_t session, std::uint64_t sequence);
  /// Keeps the reply for resends. Does nothing if the session was forgotten meanwhile.
  void answered(std::uint64_t session, std::uint64_t sequence, SequencedReply reply);

  /// Returns the number that the session must send next; 0 if the session does not exist or belongs
  /// to another connection.
  std::uint64_t next_sequence(std::uint64_t connection, std::uint64_t session) const;

  /// Returns the session's number: 1 for the first session that was opened, 2 for the second, and
  /// so on; 0 if there is no such session. The number stands for the session in the log, which must
  /// not show the id.
  std::uint64_t number_of(std::uint64_t session) const;

  /// Returns the numbers of streams and names that the session has created so far. The caller
  /// increments them. The session must be in the table.
  SessionTaken& taken(std::uint64_t session) { return sessions_.at(session).taken; }
  /// Call it when a stream that the session has created is removed. Does nothing if the session has
  /// ended.
  void give_back_stream(std::uint64_t session);
  /// Returns the most streams of any session, and the most names. The two numbers may belong to
  /// different sessions.
  SessionTaken most_taken() const;

  std::size_t count() const { return sessions_.size(); }

 private:
  using Sent = SessionState::Sent;  ///< a request whose number is used up
  struct Session {
    std::uint64_t number = 0;
    std::uint64_t connection = 0;
    zmtp::PrincipalId principal = zmtp::PrincipalId::anonymous;
    RequestOwner holder{};
    std::int64_t heard_us = 0;  ///< time of awake_
    std::uint64_t last_sequence = 0;
    SessionTaken taken{};
    std::deque<Sent> sent{};                     ///< SessionState::sent
    bool is_used = false;                        ///< true: it is in used_; false: in unused_
    std::list<std::uint64_t>::iterator place{};  ///< its entry in used_ or unused_
  };
  using Sessions = std::unordered_map<std::uint64_t, Session>;

  std::list<std::uint64_t>& list_of(const Session& session) {
    return session.is_used ? used_ : unused_;
  }
  /// The principal, the holder and the connection of the session that must give way;
  /// std::nullopt: any.
  struct GivingWay {
    std::optional<zmtp::PrincipalId> principal{};
    std::optional<RequestOwner> holder{};
    std::optional<std::uint64_t> connection{};
  };

  void add(std::uint64_t id, Session session);
  static std::uint64_t last_answered(const Session& session);
  void forget(Sessions::iterator session);
  /// The connection of a session from the log, until a client resumes it.
  static constexpr std::uint64_t no_connection = std::numeric_limits<std::uint64_t>::max();

  bool has_its_share(const RequestOwner& holder) const;
  void move_to(std::uint64_t connection, const RequestOwner& holder, Session& session);
  void count_out(std::uint64_t connection);
  void count_out(const RequestOwner& holder);
  bool has_unanswered(std::uint64_t session) const;
  Sessions::iterator session_to_replace(std::int64_t now_us, const GivingWay& whose);

  SessionLimits limits_;
  AwakeClock awake_;
  std::function<std::uint64_t()> random_;
  std::function<bool(std::uint64_t)> has_arriving_;
  std::uint64_t last_number_ = 0;
  Sessions sessions_;
  /// Number of sessions of each principal.
  std::unordered_map<zmtp::PrincipalId, std::size_t> counts_;
  /// Number of sessions of each holder.
  std::map<RequestOwner, std::size_t> holder_counts_;
  /// Number of sessions of each connection.
  std::unordered_map<std::uint64_t, std::size_t> connection_counts_;
  std::list<std::uint64_t> unused_;  ///< sessions that were never used, the oldest first
  std::list<std::uint64_t> used_;    ///< all other sessions, the longest silent first
};

}  // namespace starling::stream
