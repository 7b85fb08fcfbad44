// SPDX-License-Identifier: Apache-2.0
// Makes the chosen engine and describes it for the summary: see embedded_host.hpp.
#include "starling/apps/shared/embedded_host.hpp"

#include <utility>

#include "starling/knn/base/thread_pool.hpp"
#include "starling/sim/host/embedded_host.hpp"

namespace starling::apps {

std::unique_ptr<sim::LockStepHost> make_embedded_host(const EngineFlags& flags,
                                                      ProcessorOptions options) {
  const EngineChoice choice = choose_engine(flags);
  std::unique_ptr<Engine> engine = choice.make(options.space);
  options.queries.neighbors_max = engine->limits().neighbors_max;
  options.threads = half_of_cores();
  return std::make_unique<sim::EmbeddedHost>(
      options, std::move(engine), "the embedded engine " + choice.name + " (" + choice.why + ")");
}

}  // namespace starling::apps
