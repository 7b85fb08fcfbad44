// SPDX-License-Identifier: Apache-2.0
// The names that a server has sent for ids, and the ids to ask for next. NameCache does no I/O;
// NameLookup does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "starling/protocol/client/client.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

class NameCache {
 public:
  /// At most this many ids wait to be asked for. Further ids are shown as numbers until there is
  /// room.
  static constexpr std::size_t wanted_max = std::size_t{1} << 20;
  /// At most this many ids are known to have no name. When there are more, the cache forgets all of
  /// these ids, and asks again for an id when it is shown again.
  static constexpr std::size_t nameless_max = std::size_t{1} << 22;

  /// Call for an id that will be shown. The cache queues the id to be asked for, unless the
  /// server's answer for it is known.
  void want(std::uint64_t id);

  /// True if every id that want() queued is answered.
  bool is_complete() const { return wanted_.empty() && asked_.empty(); }
  bool has_wanted() const { return !wanted_.empty(); }

  /// Returns the next ids to ask for, at most `count_max`. These ids then wait for an answer. Send
  /// the request even if it has no ids: the server's answer also says whether there are new names.
  std::vector<std::uint64_t> next_asked(std::size_t count_max);
  /// Takes the answer for `ids`, which next_asked() returned. An id with a name is never asked for
  /// again, because a server never takes a name back. An id without a name is asked for again only
  /// after the server says that its names have changed.
  void answered(std::span<const std::uint64_t> ids, const protocol::NameAnswers& answers);
  /// Call if no answer will come. The ids are asked for again when they are shown again.
  void unanswered();
  /// Call if the server sends no names. From now on no id is asked for.
  void give_up();

  const sim::NameTable& names() const { return names_; }

 private:
  sim::NameTable names_;
  std::unordered_set<std::uint64_t> nameless_;  ///< ids without a name at version_
  std::deque<std::uint64_t> wanted_;
  std::unordered_set<std::uint64_t> asked_;  ///< queued, or asked for and not answered
  /// The epoch and the count of the server's names in its last answer.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> version_;
  bool has_given_up_ = false;
};

}  // namespace starling::apps
