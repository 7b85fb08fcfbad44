// SPDX-License-Identifier: Apache-2.0
// See backends.hpp.
#include "starling/clients/c/backends.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "starling/clients/c/error.hpp"
#include "starling/cpu/backend.hpp"
#ifdef STARLING_CUDA
#include "starling/gpu/backend.hpp"
#endif

namespace starling::c {
namespace {

constexpr std::uint32_t threads_max = 1024;

void check(const BackendChoice& choice) {
  if (choice.backend < STARLING_BACKEND_AUTO || choice.backend > STARLING_BACKEND_CUDA)
    fail(STARLING_INVALID_ARGUMENT,
         "backend is " + std::to_string(choice.backend) + "; it must be 0 to 2, see starling.h.");
  if (choice.threads > threads_max)
    fail(STARLING_INVALID_ARGUMENT, "threads is " + std::to_string(choice.threads) +
                                        "; it must be 0, for one per core, to " +
                                        std::to_string(threads_max) + ".");
}

/// Returns whether the choice means a GPU. Throws FailureError if it asks for one that is not here.
bool means_cuda(const BackendChoice& choice) {
  check(choice);
  if (choice.backend == STARLING_BACKEND_CPU) return false;
#ifdef STARLING_CUDA
  std::string why_none;
  const auto devices = gpu::find_devices(why_none);
  const bool is_here =
      std::ranges::find(devices, choice.device, &gpu::DeviceInfo::number) != devices.end();
  if (is_here || choice.backend == STARLING_BACKEND_AUTO) return is_here;
  fail(STARLING_UNAVAILABLE, devices.empty()
                                 ? "There is no GPU: " + why_none + "; use the cpu backend."
                                 : "There is no GPU " + std::to_string(choice.device) +
                                       " here; use another or the cpu backend.");
#else
  if (choice.backend == STARLING_BACKEND_AUTO) return false;
  fail(STARLING_UNAVAILABLE, "This library is built without the CUDA engine; use the cpu backend.");
#endif
}

}  // namespace

std::unique_ptr<Engine> make_engine(const BackendChoice& choice, const SpaceOptions& space) {
#ifdef STARLING_CUDA
  if (means_cuda(choice)) return gpu::make_engine({.space = space, .device = choice.device});
#else
  means_cuda(choice);
#endif
  return cpu::make_engine({.space = space, .threads = choice.threads, .pin_threads = false});
}

std::unique_ptr<VectorSearcher> make_searcher(const BackendChoice& choice) {
#ifdef STARLING_CUDA
  if (means_cuda(choice)) return gpu::make_vector_searcher(choice.device);
#else
  means_cuda(choice);
#endif
  return cpu::make_vector_searcher(choice.threads);
}

}  // namespace starling::c
