// SPDX-License-Identifier: Apache-2.0
// Makes the engine or the searcher that the caller's options ask for. Only backends.cpp includes
// the backends, so the rest of the C interface does not depend on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "starling/clients/c/starling.h"
#include "starling/knn/engine/engine.hpp"
#include "starling/knn/vectors/searcher.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::c {

struct BackendChoice {
  starling_backend backend = STARLING_BACKEND_AUTO;
  std::int32_t device = 0;
  std::uint32_t threads = 0;  ///< number of the CPU's threads; 0: one per core
};

/// Both functions throw FailureError if the backend or the device is not available.
std::unique_ptr<Engine> make_engine(const BackendChoice& choice, const SpaceOptions& space);
std::unique_ptr<VectorSearcher> make_searcher(const BackendChoice& choice);

/// Copies from a GPU's memory, as gpu::copy_from_device does (gpu/backend.hpp). Throws FailureError
/// if the CUDA engine is not installed, or if there is no such device.
void copy_from_device(void* to, const void* from, std::size_t bytes, std::int32_t device);

}  // namespace starling::c
