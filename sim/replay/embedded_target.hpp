// A replay's embedded engine: a Processor driven in lock step with the replay clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "knn/tables/processor.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/replay_setup.hpp"

namespace starling::sim {

class EmbeddedTarget : public ReplayTarget {
 public:
  /// Throws UsageError if the processor refuses the setup.
  EmbeddedTarget(const ProcessorOptions& options, std::unique_ptr<Engine> engine,
                 const ReplaySetup& setup);

  StagedRows stage(std::span<const TraceRow> rows) override;
  FinishedTick advance(std::int64_t tau_us, protocol::ListStore* lists) override;

  const Processor& processor() const { return processor_; }

 private:
  void put_queries(const ReplaySetup& setup);
  void apply(const QueryReport& report, protocol::ListStore& lists) const;

  Processor processor_;
  LockStep lock_step_;
  std::vector<ObjectUpdate> updates_;
  std::vector<UpdateStatus> statuses_;
};

}  // namespace starling::sim
