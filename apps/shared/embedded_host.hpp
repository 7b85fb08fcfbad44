// SPDX-License-Identifier: Apache-2.0
// The host that `starling replay` and `starling simulate` use when they run without a server.
#pragma once

#include <memory>

#include "starling/apps/shared/engines.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/sim/host/lock_step_host.hpp"

namespace starling::apps {

/// Makes a host on the engine that the flags choose. The lists of the host may fill the whole
/// engine, because only this program uses the engine. Throws as choose_engine does.
std::unique_ptr<sim::LockStepHost> make_embedded_host(const EngineFlags& flags,
                                                      ProcessorOptions options);

}  // namespace starling::apps
