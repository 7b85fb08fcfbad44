// Starling's door to NVIDIA GPUs: which there are, an Engine on one of them, and a VectorSearcher
// on one or several. CUDA-free: no CUDA header or type reaches its users. Those are apps/, tests/,
// and programs that embed Starling.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "starling/gpu/device/devices.hpp"
#include "starling/gpu/points/small_work.hpp"
#include "starling/gpu/vectors/searcher_options.hpp"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::gpu {

struct EngineOptions {
  SpaceOptions space{};  ///< resolution_m and origin are not read: the processor rounds
  int device = 0;        ///< its CUDA number
  /// Of the device's memory that the engine may take; past it a tick fails and the old state
  /// stands.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  SmallWork small{};  ///< means nothing in a vector space
};

/// Every space gives the same answers as on any other Engine, byte for byte. Throws an exception
/// derived from std::runtime_error, with a sentence, where there is no such device, and
/// std::invalid_argument if a vector space has no dimension that it may have.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

/// Every searcher gives the same lists as any other, byte for byte. All of these throw an exception
/// derived from std::runtime_error, with a sentence, where there is no such device.
std::unique_ptr<VectorSearcher> make_vector_searcher(const VectorSearcherOptions& options);
/// On the device of this CUDA number.
std::unique_ptr<VectorSearcher> make_vector_searcher(int device);
/// Over these devices, at least one. Where each holds the corpus, each answers a share of the
/// queries; else each holds a share of the rows, and the lists are merged. Naming a device twice is
/// allowed, gives it two shares, and is not faster.
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const VectorSearcherOptions> devices,
                                                     const SplitOptions& options = {});
/// Over the devices of these CUDA numbers, at least one.
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const int> devices);

}  // namespace starling::gpu
