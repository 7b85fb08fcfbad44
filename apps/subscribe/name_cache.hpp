// SPDX-License-Identifier: Apache-2.0
// The names that a server has sent for ids, and the ids to ask for next. Does no I/O itself;
// NameLookup uses it.
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
#include "starling/sim/traces/name_table.hpp"

namespace starling::apps {

class NameCache {
 public:
  /// The most ids that wait to be asked for. Further ids are shown as numbers for a while longer.
  static constexpr std::size_t wanted_max = std::size_t{1} << 20;
  /// The most ids that are known to have no name. When there are more, the cache forgets all of
  /// them and asks again for those that are shown.
  static constexpr std::size_t nameless_max = std::size_t{1} << 22;

  /// Takes an id that will be shown, and queues it to be asked for unless the answer is known.
  void want(std::uint64_t id);

  /// True if all ids taken by want() are answered.
  bool is_complete() const { return wanted_.empty() && asked_.empty(); }
  bool has_wanted() const { return !wanted_.empty(); }

  /// Returns the next ids to ask for, at most `count_max`; they then wait for an answer. The result
  /// may be empty; an empty request asks whether the server has new names.
  std::vector<std::uint64_t> next_asked(std::size_t count_max);
  /// Takes the answer to those ids. A server never takes a name back, so ids without a name are
  /// asked for again only if the server says that it has other names than before.
  void answered(std::span<const std::uint64_t> ids, const protocol::NameAnswers& answers);
  /// Call if no answer will come. The ids are asked for again when they are shown again.
  void unanswered();
  /// Call if the server sends no names. From now on no id is asked for.
  void give_up();

  const sim::NameTable& names() const { return names_; }

 private:
  sim::NameTable names_;
  std::unordered_set<std::uint64_t> nameless_;  ///< as of version_
  std::deque<std::uint64_t> wanted_;
  std::unordered_set<std::uint64_t> asked_;  ///< queued, or asked for and not answered
  /// The epoch and the count of the server's names in its last answer.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> version_;
  bool has_given_up_ = false;
};

}  // namespace starling::apps
