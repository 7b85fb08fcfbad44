// SPDX-License-Identifier: Apache-2.0
// Steps through the rows of a request and answers it: see row_requests.hpp.
#include "starling/stream/requests/row_requests.hpp"

#include <new>

namespace starling::stream {
namespace {

/// A request with fewer rows is applied in one turn, which takes less than a millisecond.
constexpr std::size_t long_rows_min = 1024;
constexpr std::size_t rows_per_step = 256;

/// A change that is being applied.
struct Running {
  RowChange change;
  bool is_out_of_memory = false;  ///< true: the change stops, and its request is refused
};

}  // namespace

void RowRequests::run(const std::shared_ptr<HeldRequest>& held, RowChange change) {
  const bool is_long = change.rows >= long_rows_min;
  const std::size_t rows_max = is_long ? rows_per_step : std::max<std::size_t>(change.rows, 1);
  const std::int64_t since_us = executor_.now_us();
  const auto running = std::make_shared<Running>(Running{std::move(change)});
  const auto step = [this, held, running, rows_max] {
    bool is_done = false;
    try {
      owners_.charged(held->caller, [&] { is_done = running->change.step(rows_max); });
    } catch (const std::bad_alloc&) {
      running->is_out_of_memory = true;
      return true;
    }
    return is_done;
  };
  tables_.slice(step, [this, held, running, since_us, is_long] {
    metrics_.applied(executor_.ms_since(since_us));
    if (running->is_out_of_memory)
      replies_.refuse_for_memory(held->caller);
    else
      replies_.answer(held->caller, running->change.finish());
    held->give_back();
    if (!is_long) return;
    beside_.submit(
        [request = std::make_shared<PreparedRequest>(std::move(held->request))]() mutable {
          request.reset();
          return [] {};
        });
  });
}

}  // namespace starling::stream
