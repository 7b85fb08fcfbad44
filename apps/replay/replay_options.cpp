// SPDX-License-Identifier: Apache-2.0
// Converts the flags into a plan, or throws a sentence that names the wrong flag: see
// replay_options.hpp.
#include "starling/apps/replay/replay_options.hpp"

#include <algorithm>

#include "starling/apps/shared/speed_flag.hpp"
#include "starling/knn/base/time_text.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/report_names.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"

namespace starling::apps {
namespace {

std::int64_t positive_duration_us(const std::string& flag, const std::string& text,
                                  std::int64_t when_absent_us) {
  if (text.empty()) return when_absent_us;
  const auto parsed_us = parse_duration_us(text);
  if (!parsed_us || *parsed_us <= 0)
    refuse_flag(flag, text, "a positive duration, such as 100ms, 10s, 5m or 1h");
  return *parsed_us;
}

double distance_m(const std::string& flag, const std::string& text) {
  if (text.empty()) return protocol::QuerySpec::any_distance_m;
  const auto parsed_m = sim::parse_number(text);
  if (!parsed_m || !(*parsed_m >= 0)) refuse_flag(flag, text, "a distance in metres, such as 500");
  return *parsed_m;
}

std::uint32_t tag_bits(const std::string& flag, const std::string& text) {
  if (text.empty()) return 0;
  const auto parsed = sim::parse_tag_bits(text);
  if (!parsed) refuse_flag(flag, text, "tag bits, such as 5 or 0x5");
  return *parsed;
}

Position origin(const std::string& text) {
  Position position{};
  std::string_view rest = text;
  for (std::size_t axis = 0; !rest.empty(); ++axis) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const auto parsed = sim::parse_number(part);
    if (!parsed || axis == position.size()) refuse_flag("--origin", text, "x,y or x,y,z in metres");
    position[axis] = *parsed;
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  return position;
}

void refuse_flags_of_the_other_side(const ReplayFlags& flags) {
  const bool sets_space = !flags.object_ttl.empty() || !flags.origin.empty() ||
                          flags.resolution_m != ReplayFlags().resolution_m;
  if (!flags.commands.empty() && sets_space)
    throw sim::UsageError(
        "--connect: --object-ttl, --origin and --resolution are flags of the server; give them to "
        "starling serve");
  if (flags.every_tick && flags.changes)
    throw sim::UsageError(
        "--every-tick writes all lists at each tick and --changes only the changed ones; give one");
  if (flags.out.empty() && flags.every_tick)
    throw sim::UsageError("--every-tick says what --out writes; add --out FILE");
  const auto wants = [&](const char* column) {
    return std::ranges::find(flags.with, column) != flags.with.end();
  };
  if (flags.out.empty() && !flags.with.empty())
    throw sim::UsageError("--with says which columns --out has; add --out FILE");
  if (wants("position") && !flags.commands.empty())
    throw sim::UsageError(
        "--with position takes the positions from the trace, and a server may have others; leave "
        "out --connect, or use starling subscribe --with position");
  if (wants("position") && flags.order == "file")
    throw sim::UsageError(
        "--with position needs the rows in order of time; leave out --order file");
  if (flags.out.empty() && flags.changes)
    throw sim::UsageError("--changes says what --out writes; add --out FILE");
}

}  // namespace

ReplayPlan plan_replay(const ReplayFlags& flags) {
  refuse_flags_of_the_other_side(flags);
  ReplayPlan plan;
  static_cast<TracePlan&>(plan) = plan_trace(flags);
  plan.resolution_m = flags.resolution_m;
  plan.origin = origin(flags.origin);
  plan.tick_us = positive_duration_us("--tick", flags.tick, 0);
  plan.speed = speed_of(flags.speed);
  plan.progress_fd = flags.progress_fd;
  plan.k = flags.k;
  if (flags.queries != "all") plan.query_file = flags.queries;
  plan.age_max_us = positive_duration_us("--max-age", flags.max_age, Filter::any_age);
  plan.distance_max_m = distance_m("--distance-max", flags.distance_max);
  plan.tags = {tag_bits("--tags-required", flags.tags_required),
               tag_bits("--tags-forbidden", flags.tags_forbidden)};
  plan.object_ttl_us =
      positive_duration_us("--object-ttl", flags.object_ttl, ObjectTableOptions::never_us);
  plan.changes_only = flags.changes;
  plan.every_tick = flags.every_tick;
  sim::request(flags.with, plan.columns);
  plan.columns.exact_distances = flags.exact;
  plan.on = flags.changes ? report_on_named(flags.on).value() : ReportOn::distance;
  plan.engine = flags.engine;
  plan.out = flags.out;
  plan.commands = flags.commands;
  plan.results = flags.results;
  if (!flags.commands.empty()) plan.key = key_of(flags.key);
  plan.connect_timeout_ms = std::max<std::int64_t>(
      positive_duration_us("--connect-timeout", flags.connect_timeout, 0) / 1000, 1);
  plan.stream = flags.stream;
  return plan;
}

}  // namespace starling::apps
