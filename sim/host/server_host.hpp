// SPDX-License-Identifier: Apache-2.0
// ServerHost is a host that uses a running server in manual-tick mode. Rows are sent through a
// Client, and lists arrive through a Subscriber. Other programs may subscribe to the same stream.
// `starling replay` and `starling simulate` use ServerHost with --connect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "starling/protocol/client/manual_server.hpp"
#include "starling/sim/data/traces/name_table.hpp"
#include "starling/sim/host/lock_step_host.hpp"

namespace starling::sim {

class ServerHost : public LockStepHost {
 public:
  /// Connects to the server. `purpose`, "replay" or "simulation", names this program to the server
  /// and in errors. Throws UsageError if the server ticks by itself, and whatever Client throws.
  ServerHost(zmq::context_t& context, const protocol::ManualServerOptions& options,
             const std::string& purpose);
  ~ServerHost() override;

  const std::string& describe() const override { return description_; }
  const SpaceOptions& space() const override { return server_.terms().space; }

  /// Sends the ids in `names` and their original texts to the server. `what` says in errors what
  /// the texts are, for example "objects' names".
  void put_names(const NameTable& names, const std::string& what);

  /// Asks the server for the names of objects in `lists` that `object_names` lacks, and adds these
  /// names to `object_names`. Other clients may have put those objects. Throws std::runtime_error
  /// if the server refuses.
  void learn_names(const protocol::ListStore& lists, NameTable& object_names);

  protocol::ListStore open(const HostStream& stream) override;
  void put_objects(std::span<const TraceRow> rows) override;
  void put_tags(std::span<const TagUpdate> rows) override;
  void remove_objects(std::span<const ObjectRemoval> rows);
  void put_queries(std::span<const protocol::QuerySpec> queries) override;
  void remove_queries(std::span<const QueryId> ids) override;
  RowCounts settle() override;
  void settle_all(const std::string& what) override;
  FinishedTick advance(std::int64_t tau_us, const ListHandler& on_list) override;
  bool runs_ahead() const override { return true; }
  /// First takes the lists of a tick under way, if there is one. If their message was lost, a
  /// snapshot can replace it only until the server gets the next tick.
  void begin(std::int64_t tau_us) override;
  FinishedTick finish(const ListHandler& on_list) override;

 private:
  /// The arguments with which ListHandler is called for one changed list.
  struct Change {
    protocol::ListKey key;
    ListEvent event{};
    std::vector<protocol::HeldNeighbor> neighbors;
  };
  /// A tick that is taken from the server, and that finish() has not returned yet.
  struct TakenTick {
    FinishedTick tick;
    std::vector<Change> changes;
  };

  /// Waits for the tick under way and its lists, and passes the lists to `on_list`.
  FinishedTick take_tick(const ListHandler& on_list);
  void follow();
  void post_objects(std::span<const TraceRow> rows);
  void report_tick(const protocol::DecodedTick& tick);
  void report_snapshot();
  void report(const protocol::ListKey& key, ListEvent event, const protocol::HeldList& list);

  std::string description_;
  protocol::ManualServer server_;
  HostStream stream_;
  std::unordered_set<std::uint64_t> query_ids_;  ///< stream_.queries as a set
  const ListHandler* on_list_ = nullptr;         ///< handler of the current advance(), or null
  std::optional<protocol::ListStore> before_;    ///< the lists before a tick whose message was lost
  std::uint64_t ticks_lost_ = 0;
  bool is_under_way_ = false;  ///< a tick has begun and is not taken
  std::deque<TakenTick> taken_;
};

}  // namespace starling::sim
