// Names of ids as far as a server has told them, and which ids are still to be asked for. Sans-IO;
// NameLookup is its user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "protocol/client/client.hpp"
#include "sim/traces/name_table.hpp"

namespace starling::apps {

class NameCache {
 public:
  /// Waiting to be asked for, and known to have no name. Beyond either, ids are shown as numbers a
  /// while longer, or asked for once more.
  static constexpr std::size_t wanted_max = std::size_t{1} << 20;
  static constexpr std::size_t nameless_max = std::size_t{1} << 22;

  /// An id that is to be shown: asked for unless the answer is known.
  void want(std::uint64_t id);

  /// Every id wanted is answered.
  bool is_complete() const { return wanted_.empty() && asked_.empty(); }
  bool has_wanted() const { return !wanted_.empty(); }

  /// The next ids to ask for, at most `count_max`; their answer is awaited. May be none, which asks
  /// whether the server has new names.
  std::vector<std::uint64_t> next_asked(std::size_t count_max);
  /// The answer to those ids. Names are never taken back, so ids without one are asked for anew
  /// only where the server says that it has other names than before.
  void answered(std::span<const std::uint64_t> ids, const protocol::NameAnswers& answers);
  /// There will be no answer: those ids are asked for again when they are shown again.
  void unanswered();
  /// The server tells no names: nothing is waited for.
  void give_up();

  const sim::NameTable& names() const { return names_; }

 private:
  sim::NameTable names_;
  std::unordered_set<std::uint64_t> nameless_;  ///< at the state of version_
  std::deque<std::uint64_t> wanted_;
  std::unordered_set<std::uint64_t> asked_;  ///< wanted, or asked for and not answered
  /// Epoch and count of the server's names.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> version_;
  bool has_given_up_ = false;
};

}  // namespace starling::apps
