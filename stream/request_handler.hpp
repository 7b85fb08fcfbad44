// SPDX-License-Identifier: Apache-2.0
// Carries out requests: checks session and sequence number, changes the tables, begins manual
// ticks, and passes questions to the engine. Server calls the handler on the loop. The handler uses
// no socket itself: it sends replies through Parts::send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/protocol/rows/prepared_rows.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/access/accounts.hpp"
#include "starling/stream/access/audit.hpp"
#include "starling/stream/access/principal.hpp"
#include "starling/stream/executor/executor.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/metrics.hpp"
#include "starling/stream/options.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/prepare.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/recovery/log_replay.hpp"
#include "starling/stream/recovery/past_reader.hpp"
#include "starling/stream/sockets/command_socket.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/fair_queue.hpp"
#include "starling/stream/state/page_rate.hpp"
#include "starling/stream/state/peer_buckets.hpp"
#include "starling/stream/state/request_owner.hpp"
#include "starling/stream/state/session_table.hpp"
#include "starling/stream/state/snapshot_store.hpp"
#include "starling/stream/state/subscriber_losses.hpp"
#include "starling/stream/tables/tables.hpp"
#include "starling/stream/ticker.hpp"

namespace starling::stream {

class RequestHandler {
 public:
  using Send = std::function<void(const Peer&, const protocol::Frame&)>;

  /// The parts of the server that the handler uses. The parts must outlive the handler.
  struct Parts {
    Executor& executor;
    std::function<std::uint64_t()> random;  ///< makes the ids of sessions
    Tables& tables;
    TickTime& time;
    const protocol::ServedSpace& space;
    Ticker& ticker;
    Publisher& publisher;
    CreditLedger& credit;
    Metrics& metrics;
    Send send;
    std::function<Gauges()> gauges;
    /// Returns the number of subscriptions to a topic.
    std::function<std::uint64_t(std::string_view topic)> subscription_count;
    /// Whether the server has a keys file. What a request makes then belongs to its principal,
    /// otherwise to its session.
    bool has_keys;
    Audit& audit;      ///< gets each refusal for want of rights
    Journal* journal;  ///< null if the server has no log
    PastReader* past;  ///< null if the server has no log
    /// Returns the id of the principal of this name.
    std::function<PrincipalId(const std::string& name)> principal_id;
  };

  RequestHandler(const ServerOptions& options, Parts parts);
  ~RequestHandler();

  /// Call handle() for the requests in the order of their arrival. Each request gets one reply,
  /// either at once or when the request's tick, search or copy of lists has finished. There are two
  /// exceptions: if AdvanceTick is sent again before its tick has finished, only the last one sent
  /// gets a reply; and a reply is dropped if too many bytes wait for the log.
  void handle(const Peer& peer, PreparedRequest request);

  /// The tables that the server's log determines. For a server that starts with what its log holds.
  LoggedTables logged_tables();
  /// Finishes the ticks that were under way at the end of the log, and gives each request its
  /// reply. Call it once, after Journal::recover.
  void end_recovery(LogReplay& replay);

  /// Replies with an Error to a message that is not a request.
  void refuse_malformed(const Peer& peer, const std::string& sentence);

  /// Returns whether the log may have a further line about the peer. If not, counts the line.
  bool may_log(const Peer& peer);

  /// Forgets idle sessions and idle snapshots. Server calls expire() once a second.
  void expire(std::int64_t now_us);

  /// Returns the number of GetNeighbors requests that wait for the engine or are being answered.
  std::size_t searches_under_way() const { return searches_.count(); }
  /// Returns the time, on the steady clock, when a question last arrived or was answered.
  std::int64_t last_question_us() const { return last_question_us_; }
  const SessionTable& sessions() const { return sessions_; }
  const SnapshotStore& snapshots() const { return snapshots_; }
  /// Returns the refusal of a request that names this stream, or std::nullopt if the stream exists.
  std::optional<protocol::Problem> fault_of_stream(std::string_view stream);

 private:
  /// The peer that sent a request and gets the reply, and the head of its request.
  struct Caller {
    Peer peer;
    protocol::RequestHead head;
    /// The principal of the connection when the request came. Not null if the request is carried
    /// out.
    std::shared_ptr<const Principal> principal{};
    std::string_view request{};  ///< its name in the schema
    protocol::ReplyHead reply_head() const { return {head.request_id, head.sequence, 0}; }
  };

  // Updates of objects (object_updates.cpp)
  class PendingUpdate;
  bool add_update(const Caller& caller, PreparedRequest& request);
  void answer_update(PendingUpdate& update, const GroupOutcome& outcome);

  // Requests that are applied in slices (long_requests.cpp)
  struct LongRequest;
  std::size_t rows_of(const PreparedRequest& request);
  bool apply_in_slices(const Caller& caller, PreparedRequest& request);
  template <class Apply>
  void slice(const std::shared_ptr<LongRequest>& work, std::size_t rows, Apply apply);
  protocol::BatchReply outcome_of(LongRequest& work);
  void note_long(const LongRequest& work);
  void end_long(LongRequest& work, std::optional<SequencedReply> reply);

  // Sequenced requests (sequenced_requests.cpp)
  void handle_sequenced(const Caller& caller, PreparedRequest& request);
  void execute(const Caller& caller, PreparedRequest& request);
  SequencedReply apply(const Caller& caller, PreparedRequest& request);
  template <class Row, class Apply>
  protocol::BatchReply apply_rows(protocol::RowSet<Row>& set, Apply apply);
  SequencedReply put_stream(const Caller& caller, const protocol::PutStream& request);
  protocol::ErrorReply too_many_streams(protocol::ReachedLimit limit) const;
  std::optional<SequencedReply> refusal_of(const Caller& caller,
                                           const protocol::RemoveStream& request);
  void begin_remove_stream(StreamId stream);
  SequencedReply put_queries(const Caller& caller, const protocol::PutQueries& request,
                             protocol::RowSet<QueryDefinition>& set);
  SequencedReply remove_queries(const Caller& caller, const protocol::RemoveQueries& request);
  void remove_query_rows(const Caller& caller, StreamId stream, std::span<const std::uint64_t> ids,
                         std::span<protocol::RowReason> reasons);
  void put_names(const Caller& caller, const protocol::PutNames& request, std::size_t first,
                 std::span<protocol::RowReason> reasons);
  void advance_tick(const Caller& caller, std::int64_t tau_us, std::uint64_t hash);
  void answer(const Caller& caller, SequencedReply reply);
  void count(const Caller& caller, SequencedReply& reply);
  protocol::Frame encode_reply(const Caller& caller, const SequencedReply& reply) const;
  void send_reply(const Caller& caller, const SequencedReply& reply);

  // What goes to the log, and what waits for it (recorded_changes.cpp)
  bool refuse_without_log(const Caller& caller, PreparedRequest& request);
  template <class... Arguments>
  void note_change(const Arguments&... arguments) {
    if (parts_.journal == nullptr) return;
    change_.clear();
    encode_change(arguments..., change_);
  }
  void record(const Caller& caller, const protocol::Frame& reply);
  void know(const Caller& caller);
  void record_begin_of_session(const Caller& caller, const SessionTable::Opened& opened,
                               std::uint64_t first_sequence);
  void record_session_late(const Caller& caller);
  void record_end_of_session(std::uint64_t session);
  void send_when_logged(const Caller& caller, const protocol::Frame& frame);
  void send_with_place(const Caller& caller, protocol::Frame frame);
  void send_without_record(const Caller& caller, const protocol::Frame& frame);
  void send_when_durable(const Peer& peer, const protocol::Frame& frame, std::uint64_t place);
  void send_after(const Caller& caller, const protocol::Frame& frame,
                  std::uint64_t (Journal::*place_of)(Tick) const, Tick tick);
  void refuse_without_room(const Caller& caller);
  void skip_a_tick(LogReplay& replay, const std::string& error);
  void check_memory_for_log() const;

  // Whom things belong to, and what a principal may take of the server (owners.cpp)
  std::uint64_t owner_of(const Caller& caller) const;
  static RequestOwner payer_of(const Peer& peer);
  QueryOwner query_owner(const Caller& caller) const;
  TagOwner tag_owner(const Caller& caller) const;
  std::optional<protocol::ErrorReply> refusal_of_owner(const Caller& caller, StreamId stream) const;
  std::uint64_t& streams_taken(const Caller& caller);
  std::optional<protocol::ReachedLimit> stream_limit(const Caller& caller);
  void audit_refusal(const Caller& caller, std::string_view what);
  void audit_rows(const Caller& caller, const protocol::BatchReply& reply);
  bool refuse_beyond_rates(const Caller& caller, PreparedRequest& request);
  std::optional<protocol::Problem> beyond_loop_time(const Caller& caller);
  std::optional<protocol::Problem> beyond_rows(const Caller& caller,
                                               const PreparedRequest& request);
  void charge_update(const Caller& caller, std::size_t rows, const GroupOutcome& outcome);
  /// Runs the function, and charges the caller's principal for the time of the loop. Within another
  /// call, only that one charges.
  template <class Function>
  void charged(const Caller& caller, const Function& function) {
    const bool has_quota = caller.principal && caller.principal->quotas.loop_ms_per_second;
    if (!has_quota || is_charging_) return function();
    const auto loop_us = [this] { return parts_.executor.now_us() - parts_.tables.waited_us(); };
    const std::int64_t since_us = loop_us();
    is_charging_ = true;
    try {
      function();
    } catch (...) {
      is_charging_ = false;
      throw;
    }
    is_charging_ = false;
    accounts_.charge_loop(*caller.principal, loop_us() - since_us, parts_.executor.now_us());
  }
  protocol::Problem beyond_sessions(const Caller& caller);
  protocol::Problem beyond_session_quota(const Caller& caller);
  std::optional<protocol::Problem> beyond_snapshots(const Caller& caller, std::uint64_t more_bytes);

  // All other requests (other_requests.cpp)
  void handle_other(const Caller& caller, PreparedRequest& request);
  void hello(const Caller& caller, const protocol::Hello& request);
  void end_session(const Caller& caller);
  void get_snapshot(const Caller& caller, const protocol::GetSnapshot& request,
                    PreparedRequest& prepared);
  void copy_snapshot(const Caller& caller, const protocol::GetSnapshot& request,
                     PreparedRequest& prepared);
  struct AskedSnapshot;
  bool collect_some(AskedSnapshot& asked);
  void read_snapshot(const std::shared_ptr<AskedSnapshot>& asked);
  protocol::Problem beyond_places(const SnapshotStore::Reservation& refused,
                                  std::uint64_t bytes) const;
  void make_snapshot(const std::shared_ptr<AskedSnapshot>& asked, Answers answers);
  std::uint64_t place_of_snapshot(Tick tick) const;
  std::vector<protocol::Run> runs() const;
  protocol::Frame encode_page(const Caller& caller, const Snapshot& snapshot, std::uint64_t number,
                              std::size_t page) const;
  void get_neighbors(const Caller& caller, const protocol::GetNeighbors& request,
                     std::vector<OneShotQuery> questions);
  struct AskedQuestions;
  void search(const Caller& caller, const protocol::GetNeighbors& request,
              std::vector<OneShotQuery> questions);
  bool begin_search(AskedQuestions& asked);
  void ask_past(const Caller& caller, const protocol::GetNeighbors& request,
                std::vector<OneShotQuery> questions);
  void send_past(const Caller& caller, const PastReader::Outcome& outcome);
  void send_neighbors(const Caller& caller, const Answers& answers);
  void refuse_unanswered(const Caller& caller, const Answers& answers);
  void get_names(const Caller& caller, const protocol::GetNames& request);
  void get_stats(const Caller& caller);
  void report_received(const Caller& caller, const protocol::ReportReceived& request);

  // Requests that are answered in pages (read_requests.cpp)
  std::size_t page_rows(const Caller& caller, std::uint32_t rows_max);
  void list_streams(const Caller& caller, const protocol::ListStreams& request);
  void list_queries(const Caller& caller, const protocol::ListQueries& request);
  void get_objects(const Caller& caller, const protocol::GetObjects& request);

  void let_grow_for(const protocol::RowSet<QueryDefinition>& set);
  /// Returns the limit that rejects rows with `reason` now.
  protocol::ReachedLimit limit_of(protocol::RowReason reason, const Caller& caller) const;

  /// Handles any request but a fresh update of objects.
  void handle_settled(const Caller& caller, PreparedRequest& request, bool is_known);
  /// Refuses a request for which memory ran out. The client may send it again with its number.
  void refuse_for_memory(const Caller& caller);

  /// Returns true if the peer has named too many sessions that are unknown to it. Such a request
  /// must be refused without a look at the session.
  bool has_guessed_too_often(const Caller& caller, std::uint64_t session) const;
  /// Refuses a request of a peer that has guessed too often.
  void refuse_guess(const Caller& caller);
  /// Drops the session's credit, snapshots and losses. Call after SessionTable has forgotten the
  /// session.
  void forget_session(std::uint64_t session);
  void refuse(const Caller& caller, protocol::Problem problem);
  void refuse(const Caller& caller, protocol::ErrorCode code, std::string sentence);
  protocol::ErrorReply unknown_stream(std::string_view stream) const;

  ServerOptions options_;
  Parts parts_;
  SessionTable sessions_;
  Accounts accounts_;
  PeerBuckets guesses_;
  PeerBuckets log_lines_;
  SnapshotStore snapshots_;
  PageRate pages_;
  SubscriberLosses losses_;
  bool is_charging_ = false;
  FairQueue searches_;
  std::int64_t last_question_us_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::deque<Caller> advancing_;     ///< the senders of AdvanceTick while their ticks run
  std::uint64_t waiting_bytes_ = 0;  ///< of replies that wait for the log
  RecordBytes change_;               ///< what the request changed that is answered next
  /// Sessions that the log does not know yet, and the number of the first request of each.
  std::unordered_map<std::uint64_t, std::uint64_t> unrecorded_sessions_;
  OrderedPool beside_;  ///< encodes snapshots; destroyed first
};

}  // namespace starling::stream
