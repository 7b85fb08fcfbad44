// SPDX-License-Identifier: Apache-2.0
// Checks a simulation at its end. The log gives the order in which the server applied requests and
// began ticks. The model applies the clients' own copies of the requests to the oracle in this
// order. It compares the oracle with replies, messages, subscribers' lists and answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "starling/knn/words/lattice.hpp"
#include "starling/log/files.hpp"
#include "starling/stream/journal/records.hpp"
#include "tests/server_simulation/history.hpp"
#include "tests/server_simulation/principals/simulated_principals.hpp"
#include "tests/support/oracle.hpp"

namespace starling::simulation {

class Model {
 public:
  /// `clients` are the principals of the clients. Without keys, each of them has all roles.
  Model(History& history, const test::OracleOptions& options, const SpaceOptions& space,
        const std::vector<SimulatedPrincipal>& clients)
      : history_(history), lattice_(space), oracle_(options), clients_(clients) {}

  /// Reads the whole log, and adds each violation to the History.
  void check(log::Files& files);
  std::uint64_t ticks() const { return ticks_.size(); }
  std::uint64_t failed_ticks() const { return failed_.size(); }
  /// Returns the number of ticks that have a hash of their bytes in the log.
  std::uint64_t published() const { return published_; }

 private:
  /// A tick that succeeded.
  struct Ticked {
    test::OracleTick reports;
    test::Lists lists;
    test::Oracle oracle;  ///< a copy of the oracle at this tick, which answers questions
    std::int64_t tau_us = 0;
  };

  void read(log::Files& files);
  void apply(const stream::JournalRecord& record);
  void apply_request(const stream::RequestRecord& record);
  void begin_tick(const stream::TickBegunRecord& record);
  stream::SequencedReply reply_of(std::uint64_t client, const stream::OwnedRequest& request);
  stream::SequencedReply reply_to_rows(const stream::OwnedRequest& request);
  stream::SequencedReply reply_to_stream(std::uint64_t client, const stream::OwnedRequest& request);
  stream::SequencedReply reply_to_queries(std::uint64_t client,
                                          const stream::OwnedRequest& request);
  stream::SequencedReply reply_to_removals(std::uint64_t client,
                                           const stream::OwnedRequest& request);
  stream::SequencedReply reply_to_stream_removal(std::uint64_t client,
                                                 const stream::OwnedRequest& request);
  bool may_change(std::uint64_t client, std::uint32_t stream, QueryId query) const;
  void forget_query(std::uint32_t stream, QueryId query);
  std::optional<std::uint32_t> find_stream(const std::string& name) const;
  std::optional<std::uint64_t> client_of(std::uint64_t session);
  void note_change(std::uint32_t stream, QueryId query);
  bool has_changed(Tick from, Tick until, std::uint32_t stream, QueryId query) const;
  void compare_reply(RequestKey key, const stream::RequestRecord& record);
  void compare_tick_reply(RequestKey key, const stream::RequestRecord& record);
  void note_applied(RequestKey key);
  void compare_replies();
  void compare_messages();
  void compare_message(const MessageKey& key, const PublishedMessage& message);
  void compare_held();
  void compare_answers();
  protocol::HeldList list_of(const test::Oracle& oracle, const test::List& list,
                             const ReportWith& with) const;
  LatticePoint point(double x, double y, double z) const;
  void compare_past(const Answered& answered);

  History& history_;
  Lattice lattice_;
  test::Oracle oracle_;
  const std::vector<SimulatedPrincipal>& clients_;
  std::map<std::string, std::uint64_t> stream_owners_;  ///< clients; of existing streams
  std::map<std::pair<std::uint32_t, QueryId>, std::uint64_t> query_owners_;
  std::vector<stream::JournalRecord> records_;
  std::map<std::string, std::uint32_t> streams_;  ///< the oracle's numbers, also of removed streams
  std::set<std::string> removed_streams_;
  std::map<std::uint32_t, ReportWith> columns_;
  std::set<Tick> failed_;
  std::map<Tick, Ticked> ticks_;
  std::map<RequestKey, Tick> asked_ticks_;
  std::set<RequestKey> applied_;
  std::map<std::uint64_t, std::uint64_t> last_applied_;  ///< the key is the client
  std::map<Tick, std::int64_t> taus_us_;
  std::uint64_t published_ = 0;             ///< number of hashes in the log
  std::map<RequestKey, std::string> told_;  ///< the replies that the log has
  std::optional<std::int64_t> tau_us_;
  /// The last tick that succeeded, the tick before it, and the failed ticks after it.
  std::vector<Tick> last_ticks_{Tick{}};
  /// [stream, query]: the end of the query's lease.
  std::map<std::pair<std::uint32_t, QueryId>, std::int64_t> lease_ends_us_;
  /// Queries that were put or removed, or ended, while a tick was one of last_ticks_.
  std::set<std::tuple<Tick, std::uint32_t, QueryId>> changed_;
  std::set<std::uint64_t> epochs_;
};

}  // namespace starling::simulation
