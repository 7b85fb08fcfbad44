// SPDX-License-Identifier: Apache-2.0
// EmbeddedHost is a host that computes in this process: it runs a Processor in lock step. `starling
// replay` and `starling simulate` use EmbeddedHost unless they connect to a server.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/sim/host/lock_step_host.hpp"

namespace starling::sim {

class EmbeddedHost : public LockStepHost {
 public:
  EmbeddedHost(const ProcessorOptions& options, std::unique_ptr<Engine> engine,
               std::string description);

  const std::string& describe() const override { return description_; }
  const SpaceOptions& space() const override { return processor_.space(); }

  protocol::ListStore open(const HostStream& stream) override;
  void put_objects(std::span<const TraceRow> rows) override;
  void put_tags(std::span<const TagUpdate> rows) override;
  void put_queries(std::span<const protocol::QuerySpec> queries) override;
  void remove_queries(std::span<const QueryId> ids) override;
  RowCounts settle() override;
  void settle_all(const std::string& what) override;
  FinishedTick advance(std::int64_t tau_us, const ListHandler& on_list) override;
  bool runs_ahead() const override { return true; }
  void begin(std::int64_t tau_us) override { lock_step_.begin(tau_us); }
  FinishedTick finish(const ListHandler& on_list) override;

 private:
  void remove_rows_with_errors();
  void reject(std::string_view reason);
  void count_updates(const UpdateCounts& counts);
  void count_queries();
  void report(const QueryReport& query, const ListHandler& on_list);

  std::string description_;
  Processor processor_;
  LockStep lock_step_;
  StreamId stream_{};
  RowCounts counts_;          ///< row counts since the last settle()
  std::string first_reason_;  ///< reason of the first row refused since the last settle()

  std::vector<double> coordinates_;
  std::vector<PositionError> errors_;
  std::vector<ObjectUpdate> updates_;
  std::vector<UpdateStatus> statuses_;
  std::vector<QueryDefinition> definitions_;
  std::vector<QueryStatus> query_statuses_;
  std::vector<protocol::HeldNeighbor> neighbors_;
};

}  // namespace starling::sim
