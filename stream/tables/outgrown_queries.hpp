// SPDX-License-Identifier: Apache-2.0
// Removes every-object queries that have outgrown a quota, a limit or the memory, before a tick
// begins, and says so in the server's log. Tables owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/tables/growth.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class OutgrownQueries {
 public:
  /// The most queries that are removed at once, which takes about a millisecond.
  static constexpr std::size_t queries_at_once = 1024;

  struct Options {
    NeighborQuotas quotas{};  ///< empty: no owner has a quota
    /// Names the owner in a sentence. Empty: the owners are sessions.
    std::function<std::string(std::uint64_t owner)> owner_text{};
  };
  OutgrownQueries(Executor& executor, Options options, Processor& processor, Growth& growth)
      : executor_(executor), options_(std::move(options)), processor_(processor), growth_(growth) {}

  /// Removes the next queries that have outgrown a limit, in slices: see
  /// Processor::remove_outgrown. Fewer than queries_at_once: the rest fits. `tick` is about to
  /// begin, and its preparation has ended.
  std::vector<OutgrownQuery> remove_some(Tick tick);

 private:
  void tell(Tick tick, const OutgrownQuery& removed);
  std::string reason_of(const OutgrownQuery& removed) const;

  Executor& executor_;
  Options options_;
  Processor& processor_;
  Growth& growth_;
  std::int64_t told_us_ = std::numeric_limits<std::int64_t>::min() / 2;
  std::uint64_t told_ = 0;    ///< sentences since told_us_
  std::uint64_t untold_ = 0;  ///< removed queries that no sentence has named
};

}  // namespace starling::stream
