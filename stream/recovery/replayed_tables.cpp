// SPDX-License-Identifier: Apache-2.0
// Makes tables that hold whatever a log may hold: see replayed_tables.hpp.
#include "starling/stream/recovery/replayed_tables.hpp"

#include <future>
#include <limits>
#include <utility>

#include "starling/stream/access/principal.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/state/system_random.hpp"

namespace starling::stream {
namespace {

constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

ProcessorOptions options_of(const KeptOptions& kept, const EngineLimits& limits) {
  ProcessorOptions options;
  options.space = kept.space;
  options.objects.objects_max = limits.objects_max;
  options.objects.object_ttl_us = kept.object_ttl_us;
  options.objects.tombstone_ttl_us = kept.tombstone_ttl_us;
  // Clients chose the ids, so the hash seeds are secret here, too.
  options.objects.hash_seed = system_random();
  options.queries.hash_seed = system_random();
  options.queries.queries_max = limits.queries_max;
  options.queries.streams_max = std::numeric_limits<std::uint32_t>::max();
  options.queries.k_max = limits.k_max;
  options.queries.neighbors_max = kept.neighbors_max;
  return options;
}

}  // namespace

ReplayedTables::ReplayedTables(const std::string& kept, const EngineMaker& make_engine,
                               const SessionLimits& sessions)
    : ReplayedTables(kept_options_from(kept), make_engine, sessions) {}

ReplayedTables::ReplayedTables(const KeptOptions& kept, const EngineMaker& make_engine,
                               const SessionLimits& sessions)
    : ReplayedTables(kept, std::make_unique<SkippingEngine>(make_engine(kept.space)), sessions) {}

ReplayedTables::ReplayedTables(const KeptOptions& kept, std::unique_ptr<SkippingEngine> engine,
                               const SessionLimits& sessions)
    : has_keys_(kept.has_keys),
      engine_(engine.get()),
      processor_(options_of(kept, engine_->limits()), std::move(engine)),
      publisher_(0, kept.space.space),
      sessions_(sessions, system_random),
      names_({.names_max = no_bound, .bytes_max = no_bound}),
      ticks_(processor_),
      replay_(tables(), ticks_) {
  processor_.engine().set_result_handler(
      [results = ticks_.results()](std::unique_ptr<TickResult> result) { results->keep(result); });
}

LoggedTables ReplayedTables::tables() {
  return {.processor = processor_,
          .publisher = publisher_,
          .sessions = sessions_,
          .names = names_,
          .accounts = accounts_,
          .has_keys = has_keys_,
          .principal_id = [this](const std::string& name) { return principal_id(name); }};
}

/// Principals get numbers in the order in which the log names them.
PrincipalId ReplayedTables::principal_id(const std::string& name) {
  if (!has_keys_ || name == anonymous_name) return PrincipalId::anonymous;
  const auto next = static_cast<PrincipalId>(principals_.size() + 1);
  return principals_.try_emplace(name, next).first->second;
}

Answers ReplayedTables::ask(std::vector<OneShotQuery> questions) {
  std::promise<Answers> answers;
  engine_->search_finished(std::move(questions),
                           [&answers](Answers found) { answers.set_value(std::move(found)); });
  return answers.get_future().get();
}

LoggedState ReplayedTables::export_state() {
  std::vector<LoggedState::Principal> principals;
  for (const auto& [name, number] : principals_)
    principals.push_back({static_cast<std::uint32_t>(number), name});
  return stream::export_state(tables(), replay_, std::move(principals));
}

void ReplayedTables::import_state(LoggedState state) {
  stream::import_state(std::move(state), tables(), replay_);
}

}  // namespace starling::stream
