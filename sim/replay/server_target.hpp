// A replay into a running server whose ticks are on request: rows through a Client, lists from a
// Subscriber, in lock step with the replay clock and so the same as an embedded engine's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "protocol/client/manual_server.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/replay_setup.hpp"
#include "sim/traces/name_table.hpp"

namespace starling::sim {

class ServerTarget : public ReplayTarget {
 public:
  enum class Lists : bool { unwanted, wanted };  ///< unwanted: nothing is subscribed to

  /// Connects. Throws UsageError if the server ticks by itself, else as Client does.
  ServerTarget(zmq::context_t& context, const ManualServerOptions& options,
               Lists lists = Lists::wanted);
  ~ServerTarget() override;

  const SpaceOptions& space() const { return server_.terms().space; }

  /// Puts the stream, the queries and all names, and joins the stream. Once, before the first row.
  /// Throws std::runtime_error if the server refuses.
  void start(const ReplaySetup& setup, const NameTable& object_names,
             const NameTable& query_names = {});

  /// Asks for the names of all objects in `lists` that `object_names` has never seen: others than
  /// this replay may have put them on the server. Throws std::runtime_error if the server refuses.
  void learn_names(const protocol::ListStore& lists, NameTable& object_names);

  /// What the queries held before the first row, on a server where they have been before; later
  /// ticks report only what differs from it.
  const protocol::ListStore& held_before() const { return server_.state().lists(); }

  StagedRows stage(std::span<const TraceRow> rows) override;
  FinishedTick advance(std::int64_t tau_us, protocol::ListStore* lists) override;

 private:
  void put_names(const NameTable& names, const char* what);
  void put_queries(const ReplaySetup& setup);
  void follow(const ReplaySetup& setup);
  void post(std::span<const TraceRow> rows);
  void take_tick(const protocol::DecodedTick& tick);
  void take_snapshot();

  ManualServer server_;
  const Lists wanted_;
  std::unordered_set<std::uint64_t> query_ids_;  ///< the stream may hold others' queries
  ReportOn on_ = ReportOn::distance;
  protocol::ListStore* lists_ = nullptr;       ///< where the tick under way is applied
  std::optional<protocol::ListStore> before_;  ///< held when a tick was found missing
  std::uint64_t ticks_lost_ = 0;

  std::vector<std::uint64_t> ids_;
  std::vector<std::int64_t> times_us_;
  std::vector<double> coordinates_;
  std::vector<std::uint32_t> tags_;
};

}  // namespace starling::sim
