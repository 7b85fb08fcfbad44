// The Engine on an NVIDIA GPU: the same answers as every other, byte for byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "knn/engine/engine.hpp"
#include "knn/words/lattice.hpp"

namespace starling::gpu {

/// For tests: has ticks fail as a device would have them fail.
struct FaultInjection {
  enum class Stage : std::uint8_t {
    none,
    before_rows,
    telling_host,  ///< of what the rows changed
    after_rows,
    after_search,
    device_lost,
  };
  std::atomic<Stage> stage{Stage::none};  ///< at which every tick fails until it is none
};

/// Up to where work is small, and done in another way than much of it: the same bytes out.
struct SmallWork {
  std::uint32_t objects_max = std::uint32_t{1} << 14;  ///< few lists among them need no index
  std::uint32_t searches_max = 4096;  ///< of like k: on the plane a warp each, else a thread
};

struct EngineOptions {
  Space space = Space::planar2;
  int device = 0;  ///< its CUDA number
  /// Of the device's memory that the engine may take; past it a tick fails and the old state
  /// stands.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  SmallWork small{};
  std::shared_ptr<const FaultInjection> faults{};  ///< null: none

  // Of Space::vector, for which the two above mean nothing:
  std::uint32_t dimension = 0;  ///< 1 to dimension_max
  Metric metric = Metric::l2;
};

/// Throws DeviceError (see check.hpp), with a sentence, where there is no such device, and
/// std::invalid_argument if a vector space has no dimension that it may have.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

struct DeviceInfo {
  int number = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;
};

/// The devices that this build has code for. `why_none` says, if there are none, why and what
/// helps.
std::vector<DeviceInfo> find_devices(std::string& why_none);

/// A device of this compute capability, 900 being 9.0, or of a newer one runs this build.
int oldest_architecture();

}  // namespace starling::gpu
