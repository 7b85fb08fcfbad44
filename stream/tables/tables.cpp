// SPDX-License-Identifier: Apache-2.0
// Gives each change and each tick its turn: see tables.hpp.
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

Tables::Tables(Executor& executor, const ProcessorOptions& processor,
               std::unique_ptr<Engine> engine, Options options)
    : space_(processor.space),
      processor_(processor, std::move(engine)),
      time_(options.time, processor_),
      has_log_(options.updates.has_log),
      names_(options.names),
      growth_(executor, std::move(options.memory), processor_, names_),
      outgrown_(executor, std::move(options.outgrown), processor_, growth_),
      turns_(executor, std::move(options.has_room_again)),
      updates_(processor_, growth_, time_, turns_, std::move(options.updates)) {}

Processor& Tables::settled() {
  updates_.apply();
  turns_.settle();
  return processor_;
}

bool Tables::has_room() const {
  if (turns_.is_sliced()) return false;
  return !turns_.is_beside() || !updates_.is_full();
}

bool Tables::takes_more_updates() const {
  return updates_.has_threads() && !updates_.is_empty() && !updates_.is_full();
}

void Tables::prepare_tick(std::int64_t tau_us, SlicedWork::Step step, std::function<void()> ready) {
  settled();
  turns_.slice_next(
      [this, tau_us, step = std::move(step)] { return processor_.prepare_tick(tau_us) && step(); },
      std::move(ready));
}

void Tables::when_free(std::function<void()> finish) {
  if (!has_log_) return finish();
  settled();
  turns_.slice_next([] { return true; }, std::move(finish));
}

}  // namespace starling::stream
