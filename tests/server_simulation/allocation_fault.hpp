// SPDX-License-Identifier: Apache-2.0
// One allocation that fails. Allocations are counted over all lives of a server: while it is made
// and recovers, in the tasks of its loop and of its threads, and in its commits.
// ServerCore::start() and end() do not count.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/support/failing_new.hpp"

namespace starling::simulation {

class AllocationFault {
 public:
  /// The allocation with this number fails, counted from 1. 0: none fails.
  explicit AllocationFault(std::uint64_t number) : is_given_(number > 0), left_(number) {}

  bool has_failed() const { return is_given_ && left_ == 0; }

  /// While a Part lives, the allocations of its thread count.
  class Part {
   public:
    /// If `drawn` is given, this part's allocation with this number fails instead, counted from 1.
    explicit Part(AllocationFault& fault, std::optional<std::uint64_t> drawn = {})
        : fault_(fault), is_drawn_(drawn.has_value()) {
      if (drawn || fault.left_ > 0) failing_.emplace(drawn.value_or(fault.left_));
    }
    ~Part() { end(); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    /// Ends the counting. Returns whether an allocation of this part has failed.
    bool end() {
      if (!failing_) return has_failed_;
      has_failed_ = failing_->has_failed();
      if (!is_drawn_) fault_.left_ = failing_->left();
      failing_.reset();
      return has_failed_;
    }

   private:
    AllocationFault& fault_;
    bool is_drawn_;
    bool has_failed_ = false;
    std::optional<test::FailingAllocation> failing_;
  };

 private:
  bool is_given_;
  std::uint64_t left_;
};

}  // namespace starling::simulation
