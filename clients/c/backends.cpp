// SPDX-License-Identifier: Apache-2.0
// Chooses between the CPU and a GPU, and loads the CUDA engine for a GPU: see backends.hpp.
#include "starling/clients/c/backends.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "starling/clients/c/error.hpp"
#include "starling/cpu/backend.hpp"
#include "starling/gpu/plugin/loader.hpp"

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

[[noreturn]] void fail_without_gpu(std::string why) {
  fail(STARLING_UNAVAILABLE, "The cuda backend cannot be used: " +
                                 gpu::with_way_out(std::move(why), "use the cpu backend") + ".");
}

/// Returns the functions of the CUDA engine, or null if the CPU is to be used. Throws FailureError
/// if the caller asks for cuda and the GPU cannot be used.
const gpu::CudaDoor* find_cuda(const BackendChoice& choice) {
  check(choice);
  if (choice.backend == STARLING_BACKEND_CPU) return nullptr;
  const bool is_asked_for = choice.backend == STARLING_BACKEND_CUDA;
  const gpu::CudaLibrary library = gpu::load_cuda_library();
  if (library.door == nullptr) {
    if (is_asked_for) fail_without_gpu(library.why_none);
    return nullptr;
  }
  std::string why_none;
  const auto devices = library.door->find_devices(why_none);
  if (std::ranges::find(devices, choice.device, &gpu::DeviceInfo::number) != devices.end())
    return library.door;
  if (is_asked_for)
    fail_without_gpu(devices.empty() ? why_none
                                     : "there is no GPU " + std::to_string(choice.device) +
                                           "; choose another device");
  return nullptr;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const BackendChoice& choice, const SpaceOptions& space) {
  if (const gpu::CudaDoor* const cuda = find_cuda(choice))
    return cuda->make_engine({.space = space, .device = choice.device});
  return cpu::make_engine({.space = space, .threads = choice.threads, .pin_threads = false});
}

std::unique_ptr<VectorSearcher> make_searcher(const BackendChoice& choice) {
  if (const gpu::CudaDoor* const cuda = find_cuda(choice)) {
    const int device = choice.device;
    return cuda->make_vector_searcher({&device, 1});
  }
  return cpu::make_vector_searcher(choice.threads);
}

void copy_from_device(void* to, const void* from, std::size_t bytes, std::int32_t device) {
  const gpu::CudaDoor* const cuda = find_cuda({STARLING_BACKEND_CUDA, device, 0});
  cuda->copy_from_device(to, from, bytes, device);
}

}  // namespace starling::c
