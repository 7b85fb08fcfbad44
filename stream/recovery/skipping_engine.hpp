// SPDX-License-Identifier: Apache-2.0
// An engine that does not search ticks whose lists are not needed, or do not fit in memory. Lists
// follow from the objects and queries of their tick alone, so recovery searches only the last ticks
// of a log. A tick that failed when it was logged is not searched either. Like any failed tick, it
// keeps the old lists and leaves its rows to the next tick.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "starling/knn/engine/forwarding_engine.hpp"

namespace starling::stream {

class SkippingEngine final : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  /// From now on, ticks before `tick` are not searched: their results are empty and come at once.
  /// The first tick that is searched takes their rows. All its lists are right, but the changes
  /// that it reports are not.
  void skip_before(Tick tick) { first_searched_ = tick; }
  /// Skips the ticks after `tick` in the same way.
  void skip_after(Tick tick) { last_searched_ = tick; }
  /// Skips each of these ticks in the same way.
  void skip(std::set<Tick> ticks) { skipped_ = std::move(ticks); }
  /// From now on, `do_lists_fit` is asked before a tick is searched. If it returns false, the tick
  /// is skipped. A tick after `last_finished` then fails, because its lists were never published.
  void search_if(std::function<bool()> do_lists_fit, Tick last_finished) {
    do_lists_fit_ = std::move(do_lists_fit);
    last_finished_ = last_finished;
  }
  /// Takes back search_if().
  void search_always() { do_lists_fit_ = {}; }
  /// Returns whether the last tick that should be searched was skipped, because its lists do not
  /// fit in memory.
  bool lacks_lists() const { return lacks_lists_; }
  /// Forgets which objects have come since the last tick that was searched. Call it only if no
  /// later tick is searched.
  void forget_births() { engine().staging().births.clear(); }

  void set_result_handler(ResultHandler handler) override;
  void take_ahead() override;
  bool begin_tick(Tick tick, std::int64_t tau_us) override;

 private:
  void skip_tick(Tick tick, std::int64_t tau_us, std::string error);

  ResultHandler handler_;
  std::function<bool()> do_lists_fit_;  ///< empty: all lists fit
  Tick last_finished_{};
  bool lacks_lists_ = false;
  Tick first_searched_{};
  std::optional<Tick> last_searched_;
  std::set<Tick> skipped_;
  bool is_through_ = false;   ///< no later tick is skipped
  bool has_skipped_ = false;  ///< a tick was skipped since the last search
};

}  // namespace starling::stream
