// SPDX-License-Identifier: Apache-2.0
// Exports the objects, queries and lists of a GpuEngine to an EngineState, and imports the lists of
// an EngineState. GpuEngine calls these functions on its own thread.
#pragma once

#include <span>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_lists.hpp"
#include "starling/gpu/points/objects/device_objects.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// Returns the state, but does not set its members tick, tau_us and objects_ahead. Waits for the
/// CUDA stream.
EngineState export_parts(DeviceObjects& objects, std::span<const QueryRow> queries,
                         DeviceLists& lists, const CudaStream& stream);

/// Copies the state's lists to `lists`, and gives `lists` a plan that the next tick replaces. Waits
/// for the CUDA stream.
void import_lists(const EngineState& state, DeviceLists& lists, DeviceMemory& memory,
                  const CudaStream& stream);

}  // namespace starling::gpu
