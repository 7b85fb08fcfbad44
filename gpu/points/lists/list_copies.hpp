// SPDX-License-Identifier: Apache-2.0
// Copies the current lists of some queries from the device, for GpuEngine's read_lists. Questions
// uses close_gaps, too.
#pragma once

#include <span>

#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/points/lists/device_lists.hpp"
#include "starling/gpu/points/objects/objects_launch.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::gpu {

/// Removes the unused room after lists with fewer than k neighbours. Moves the neighbours, and the
/// states if a list carries them, so that each list begins where the list before it ends.
void close_gaps(Answers& answers);

/// Copies the lists of `queries` to `answers`, which must have no lists yet, and waits for the
/// copy. Throws DeviceError and std::bad_alloc. Throws std::runtime_error if the memory's limit is
/// reached. Also throws std::runtime_error if a list carries states and `objects_are_ahead` is
/// true, which means that the last tick failed.
void copy_lists(std::span<const Slot> queries, DeviceLists& lists, bool objects_are_ahead,
                const ObjectsView& objects, DeviceMemory& memory, const CudaStream& stream,
                Answers& answers);

}  // namespace starling::gpu
