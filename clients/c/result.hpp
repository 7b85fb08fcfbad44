// SPDX-License-Identifier: Apache-2.0
// What a starling_result points to: the lists of a tick, a question or a subscription, as arrays
// that the caller reads in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/clients/c/handles.hpp"
#include "starling/clients/c/starling.h"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/report.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/list_chunk.hpp"

namespace starling::c {

/// The arrays of starling_lists. Lists are added one after another.
class ListArrays {
 public:
  /// `with` says which columns the lists have.
  ListArrays(std::string stream, const ReportWith& with)
      : stream_(std::move(stream)), with_(with) {}

  void set_last() { is_last_ = true; }
  /// Marks the answers to questions about unknown objects. Call it after the last list is added.
  void set_unknown(std::span<const std::uint32_t> lists);
  void reserve(std::size_t lists, std::size_t entries);

  struct Head {
    QueryId query{};
    bool has_subject = false;
    ObjectId subject{};
    ListEvent event = ListEvent::updated;
    std::optional<Label> vote{};
    std::optional<double> mean{};
  };
  /// Begins a list. The entries that are added next belong to it.
  void begin_list(const Head& head);
  void add_entry(ObjectId object, double distance);
  /// Call after add_entry, if the lists carry positions or tags.
  void add_state(const Position& position, std::uint32_t tags);

  void add(const protocol::ListKey& key, const protocol::HeldList& list);
  /// Adds each list of the chunk if `is_wanted` returns true for its key.
  void add(const protocol::ListChunk& chunk,
           const std::function<bool(const protocol::ListKey&)>& is_wanted);

  /// Fills the struct with pointers into the arrays.
  starling_lists view() const;

 private:
  std::string stream_;
  ReportWith with_;
  bool is_last_ = false;
  std::vector<std::uint64_t> query_ids_;
  std::vector<std::uint64_t> subject_ids_;
  std::vector<std::uint8_t> has_subject_;
  std::vector<starling_list_event> events_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<std::uint64_t> object_ids_;
  std::vector<double> distances_;
  std::vector<double> positions_;
  std::vector<std::uint32_t> tags_;
  std::vector<std::int64_t> votes_;
  std::vector<double> means_;
  std::vector<std::uint8_t> is_unknown_;
  bool has_votes_ = false;
  bool has_means_ = false;
};

struct ResultHandle final : Handle {
  starling_tick_info info{};  ///< all members but size, stream_count and warning
  std::string warning;
  std::vector<ListArrays> streams;
};

}  // namespace starling::c
