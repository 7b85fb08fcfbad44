// SPDX-License-Identifier: Apache-2.0
// Decodes every record of a log: see log_check.hpp.
#include "starling/apps/journal/log_check.hpp"

#include <string>
#include <vector>

#include "starling/log/snapshot.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/state_codec.hpp"

namespace starling::apps {
namespace {

void check_snapshot(log::Files& files, const std::string& name) {
  log::read_snapshot(files, log::snapshot_info(files, name), [](const log::Record& record) {
    stream::LoggedState ignored;
    if (record.type != stream::record_type::epoch && record.type != stream::record_type::run)
      stream::decode_state(record, ignored);
    return true;
  });
}

}  // namespace

log::LogCheck check_all(log::Files& files, const log::GroupHandler& handler) {
  std::vector<log::DamagedLog> damage;
  const std::vector<std::string> snapshots = log::snapshot_names(files);
  for (const std::string& name : snapshots) {
    try {
      check_snapshot(files, name);
    } catch (const log::DamagedLog& found) {
      damage.push_back(found);
    }
  }
  log::LogRange range;
  if (!snapshots.empty() && !log::has_first_record(files))
    range.from = *log::sequence_of_snapshot_name(snapshots.front());
  log::LogCheck check = log::check_log(files, range, [&](const log::Group& group) {
    for (const log::Record& record : group.records) stream::decode(record);
    handler(group);
  });
  check.damage.insert(check.damage.begin(), damage.begin(), damage.end());
  return check;
}

}  // namespace starling::apps
