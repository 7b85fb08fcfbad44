// SPDX-License-Identifier: Apache-2.0
// Defines the two symbols that libstarling-cuda.so exports: its build id and its door. See
// door.hpp.
#include "starling/gpu/plugin/door.hpp"

#include "build_id/starling_build_id.hpp"
#include "starling/gpu/vectors/exchange/list_transport.hpp"

extern "C" {

extern const char starling_cuda_build_id[];
const char starling_cuda_build_id[] = STARLING_BUILD_ID;

extern const starling::gpu::CudaDoor starling_cuda_door;
const starling::gpu::CudaDoor starling_cuda_door{
    .find_devices = starling::gpu::find_devices,
    .make_engine = starling::gpu::make_engine,
    .make_vector_searcher = starling::gpu::make_vector_searcher,
    .copy_from_device = starling::gpu::copy_from_device,
    .nccl_version = starling::gpu::nccl_version,
    .measure_read_gb_per_s = starling::gpu::measure_read_gb_per_s,
    .time_selection_ms = starling::gpu::time_selection_ms,
};

}  // extern "C"
