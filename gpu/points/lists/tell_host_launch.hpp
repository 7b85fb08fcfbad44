// A few numbers that the host waits for in the middle of a tick, stored to its pinned memory. A
// copy would queue behind the last tick's reports, which take the same way.
#pragma once

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/points/lists/lists_launch.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"

namespace starling::gpu {

/// The host may read once it has waited for the CUDA stream.
void tell_host_async(const ObjectChanges* changes, ObjectChanges* host, const CudaStream& stream);
void tell_host_async(const ReportSize* size, ReportSize* host, const CudaStream& stream);

}  // namespace starling::gpu
