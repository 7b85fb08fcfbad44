// The engine inside the simulation: a Processor, ticked in lock step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "knn/tables/processor.hpp"
#include "sim/city/fleet_index.hpp"

namespace starling::sim::city {

class EmbeddedFleetIndex : public FleetIndex {
 public:
  EmbeddedFleetIndex(const FleetIndexOptions& options, std::unique_ptr<Engine> engine,
                     std::string description);

  const std::string& describe() const override { return description_; }
  void advance(std::int64_t tau_us, const FleetNews& news) override;
  std::span<const Candidate> list(RideIndex ride) const override { return lists_[ride]; }

 private:
  void stage_positions(std::int64_t tau_us, std::span<const DriverPosition> positions);
  void stage_tags(std::int64_t tau_us, std::span<const DriverTags> tags);
  void put_riders(std::span<const RiderQuery> riders);
  void take_lists(const TickReport& report);

  FleetIndexOptions options_;
  ProcessorOptions processor_options_;
  std::string description_;
  Processor processor_;
  LockStep lock_step_;
  StreamId stream_{};
  std::uint64_t distance_sq_max_ = 0;
  std::vector<std::vector<Candidate>> lists_;  ///< by ride; empty again once the rider is gone

  std::vector<double> coordinates_;
  std::vector<LatticePoint> points_;
  std::vector<PositionError> errors_;
  std::vector<ObjectUpdate> updates_;
  std::vector<TagUpdate> tag_updates_;
  std::vector<UpdateStatus> statuses_;
};

}  // namespace starling::sim::city
