// What CpuEngine holds to EngineState and back.
#pragma once

#include <span>

#include "starling/cpu/points/index/object_snapshot.hpp"
#include "starling/cpu/points/tick_lists.hpp"
#include "starling/knn/engine/engine.hpp"

namespace starling::cpu {

/// All of the state but its tick and time.
EngineState export_parts(const ObjectSnapshot& objects, std::span<const QueryRow> queries,
                         const TickLists& lists);

/// The lists as they were, under a plan that the next tick replaces.
void import_lists(const EngineState& state, TickLists& lists);

}  // namespace starling::cpu
