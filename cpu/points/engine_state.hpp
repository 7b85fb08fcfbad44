// SPDX-License-Identifier: Apache-2.0
// Converts the data of CpuEngine to EngineState and back. CpuEngine calls these functions for
// export and import.
#pragma once

#include <span>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/tick_lists.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::cpu {

/// Returns the whole state except tick, tau_us and objects_ahead.
EngineState export_parts(const ObjectSnapshot& objects, std::span<const QueryRow> queries,
                         const TickLists& lists);

/// Restores the lists, with a plan that the next tick replaces.
void import_lists(const EngineState& state, TickLists& lists);

}  // namespace starling::cpu
