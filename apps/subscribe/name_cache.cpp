// SPDX-License-Identifier: Apache-2.0
// A queue of ids to ask for, a set of the ids asked for, and a set of the ids without a name: see
// name_cache.hpp. The set of ids without a name is emptied when the server's names have changed, or
// when this set is full.
#include "starling/apps/subscribe/name_cache.hpp"

#include <algorithm>

namespace starling::apps {

void NameCache::want(std::uint64_t id) {
  if (has_given_up_ || wanted_.size() >= wanted_max) return;
  if (names_.texts().contains(id) || nameless_.contains(id)) return;
  if (asked_.insert(id).second) wanted_.push_back(id);
}

std::vector<std::uint64_t> NameCache::next_asked(std::size_t count_max) {
  const auto end =
      wanted_.begin() + static_cast<std::ptrdiff_t>(std::min(count_max, wanted_.size()));
  std::vector<std::uint64_t> ids(wanted_.begin(), end);
  wanted_.erase(wanted_.begin(), end);
  return ids;
}

void NameCache::answered(std::span<const std::uint64_t> ids, const protocol::NameAnswers& answers) {
  const std::pair version{answers.epoch, answers.name_count};
  if (version_ != version || nameless_.size() + ids.size() > nameless_max) nameless_.clear();
  version_ = version;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    asked_.erase(ids[at]);
    if (answers.texts[at].empty())
      nameless_.insert(ids[at]);
    else
      names_.put(ids[at], answers.texts[at]);
  }
}

void NameCache::unanswered() {
  wanted_.clear();
  asked_.clear();
}

void NameCache::give_up() {
  unanswered();
  has_given_up_ = true;
}

}  // namespace starling::apps
