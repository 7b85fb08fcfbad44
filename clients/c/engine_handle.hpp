// SPDX-License-Identifier: Apache-2.0
// What a starling_engine points to: a Processor in lock step. Its functions take checked input and
// throw FailureError.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/clients/c/backends.hpp"
#include "starling/clients/c/handles.hpp"
#include "starling/clients/c/inputs.hpp"
#include "starling/clients/c/result.hpp"
#include "starling/clients/c/starling.h"
#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/messages.hpp"

namespace starling::c {

/// Collects the statuses and counts of a call's rows, and writes them to the caller's memory.
class Outcomes {
 public:
  Outcomes(starling_row_status* statuses, starling_counts* counts)
      : statuses_(statuses), given_(counts) {
    check_counts(counts);
  }
  void add(std::span<const protocol::RowReason> reasons) {
    for (const protocol::RowReason reason : reasons) {
      counts_.add(reason);
      if (statuses_ != nullptr) *statuses_++ = static_cast<starling_row_status>(reason);
    }
  }
  void write() const { write_counts(given_, counts_); }

 private:
  starling_row_status* statuses_;
  starling_counts* given_;
  Counts counts_;
};

class EngineHandle final : public Handle {
 public:
  EngineHandle(const ProcessorOptions& options, const BackendChoice& backend);

  const char* name() const { return name_.c_str(); }

  void update(Rows rows, std::int64_t time_us_max, Outcomes& outcomes);
  void update_tags(const protocol::UpdateTags& batch, Outcomes& outcomes);
  void remove_objects(const protocol::RemoveObjects& batch, Outcomes& outcomes);
  void put_stream(const protocol::PutStream& stream);
  void remove_stream(const std::string& name);
  void put_queries(const std::string& stream, std::vector<protocol::QuerySpec> specs,
                   Outcomes& outcomes);
  void remove_queries(const std::string& stream, std::span<const std::uint64_t> ids,
                      Outcomes& outcomes);
  void begin_tick(std::int64_t tau_us);
  std::unique_ptr<ResultHandle> finish_tick();
  std::unique_ptr<ResultHandle> answer(std::vector<protocol::QuerySpec> specs);

  const protocol::Limits& limits() const { return limits_; }
  const SpaceOptions& space() const { return processor_.space(); }

 private:
  /// Passes the rows that are not rejected to `update`, and adds the outcomes of all rows.
  template <class Set, class Update>
  void apply(Set& set, Outcomes& outcomes, Update update);

  StreamId find_stream(const std::string& name) const;
  std::unique_ptr<ResultHandle> result_of(const TickReport& report);
  void add_reports(std::span<const QueryReport> reports, ListArrays& arrays) const;
  void add_entry(const Neighbor& neighbor, ListArrays& arrays) const;
  std::unique_ptr<ResultHandle> result_of(const Answers& answers) const;

  protocol::Limits limits_;
  protocol::ServedSpace space_;
  Processor processor_;
  LockStep lock_step_;
  std::string name_;
  std::vector<std::string> names_;  ///< [StreamId]: the stream's name
  std::vector<UpdateStatus> statuses_;
};

}  // namespace starling::c
