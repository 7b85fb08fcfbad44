// SPDX-License-Identifier: Apache-2.0
// The public header of gpu/. It lists the NVIDIA GPUs, makes an Engine on one of them, and makes a
// VectorSearcher on one or several of them. A file that includes this header sees no CUDA header or
// type. plugin/, tests/, examples/ and programs that embed Starling call these functions.
// Starling's own program and libstarling.so call them through plugin/loader.hpp.
#pragma once

#include <cstddef>
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
  SpaceOptions space{};  ///< resolution_m and origin are ignored: updates carry lattice points
  int device = 0;        ///< CUDA device number
  /// The most device memory that the engine may take. A tick that needs more fails, and the engine
  /// keeps the state from before that tick.
  std::uint64_t memory_bytes_max = std::numeric_limits<std::uint64_t>::max();
  SmallWork small{};  ///< ignored in a vector space
};

/// Makes an engine for options.space. Its answers are the same, byte for byte, as those of any
/// other Engine. Throws an exception derived from std::runtime_error if the device does not exist.
/// Throws std::invalid_argument if a vector space's dimension is out of range.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

/// Makes a searcher on one device. All searchers give the same lists, byte for byte. All four
/// overloads throw an exception derived from std::runtime_error if a device does not exist.
std::unique_ptr<VectorSearcher> make_vector_searcher(const VectorSearcherOptions& options);
/// Makes a searcher with default options on the device with this CUDA number.
std::unique_ptr<VectorSearcher> make_vector_searcher(int device);
/// Makes one searcher that uses all of `devices`, which has at least one element. If every device
/// holds the whole corpus, each device answers a share of the queries. Otherwise each device holds
/// a share of the rows, and the lists are merged. Naming a device twice is allowed, gives it two
/// shares, and is not faster.
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const VectorSearcherOptions> devices,
                                                     const SplitOptions& options = {});
/// Makes one searcher with default options that uses all devices with these CUDA numbers. `devices`
/// has at least one element.
std::unique_ptr<VectorSearcher> make_vector_searcher(std::span<const int> devices);

/// Copies `bytes` bytes from `from` to `to`, and waits until they are copied. `from` is memory that
/// CUDA knows: device memory, managed memory or page-locked memory. `to` is host memory. The copy
/// begins after all work that is already in the device's legacy default stream. A caller that gets
/// `from` by DLPack asks the producer for this order. Throws std::invalid_argument if CUDA does not
/// know `from`, or if fewer than `bytes` bytes are allocated there. Throws an exception derived
/// from std::runtime_error if the device does not exist or the copy fails.
void copy_from_device(void* to, const void* from, std::size_t bytes, int device);

}  // namespace starling::gpu
