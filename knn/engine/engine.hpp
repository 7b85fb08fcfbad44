// The seam between Starling's tables and the hardware that answers: staged rows in, lists out.
// A Processor drives one Engine from one thread; results arrive on a thread of the engine's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "knn/words/filter.hpp"
#include "knn/words/query.hpp"
#include "knn/words/types.hpp"

namespace starling {

/// An object's whole state as of the next tick. A slot appears at most once in a staging half.
struct ObjectRow {
  Slot slot = no_slot;
  std::uint32_t generation = 0;  ///< odd: alive; even: the object leaves the snapshot
  std::uint32_t tags = 0;
  LatticePoint position;
  std::int64_t time_us = 0;
};
static_assert(sizeof(ObjectRow) == 32);

constexpr bool is_alive(std::uint32_t generation) {
  return (generation & 1) != 0;
}

/// The id of a slot, staged once per owner, before the owner's first row.
struct ObjectBirth {
  Slot slot = no_slot;
  ObjectId id{};
};

/// A query's whole definition as of the next tick. A slot appears at most once in a staging half.
struct QueryRow {
  Slot slot = no_slot;
  std::uint32_t generation = 0;  ///< odd: alive; even: removed, which is reported
  std::uint32_t k = 0;
  AnchorKind anchor = AnchorKind::fixed;
  ReportOn on = ReportOn::order;
  bool with_state = false;  ///< reports carry NeighborState
  bool vote = false;        ///< reports carry the label that the neighbours vote for
  LatticePoint position;    ///< fixed
  Slot object = no_slot;    ///< follow: its slot, stable while the query lives, alive or not
  Filter filter;
  TagFilter subject;
};

/// The half that ingestion writes while the engine computes from the other. The memory resource is
/// the engine's (pinned host memory on a GPU).
struct Staging {
  explicit Staging(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : births(memory),
        objects(memory),
        queries(memory),
        object_components(memory),
        object_labels(memory),
        query_components(memory) {}

  std::pmr::vector<ObjectBirth> births;
  std::pmr::vector<ObjectRow> objects;
  std::pmr::vector<QueryRow> queries;

  // Of vector spaces, empty in all others. Components are prepared, as many as the space's
  // dimension a row; those of the dead, and of queries that are not at a fixed place, mean nothing.
  std::pmr::vector<float> object_components;  ///< of `objects`, row after row
  std::pmr::vector<Label> object_labels;      ///< of `objects`
  std::pmr::vector<float> query_components;   ///< of `queries`, row after row

  bool is_empty() const { return births.empty() && objects.empty() && queries.empty(); }
  void clear() {
    births.clear();
    objects.clear();
    queries.clear();
    object_components.clear();
    object_labels.clear();
    query_components.clear();
  }
};

enum class ListEvent : std::uint8_t {
  updated,  ///< the whole new list follows
  removed,  ///< the query with all its lists is gone, or (has_subject) one subject's list
};

/// One list that its stream asked to hear of.
struct ReportedList {
  static constexpr std::uint64_t no_state = ~std::uint64_t{0};

  Slot query = no_slot;
  ListEvent event = ListEvent::updated;
  bool has_subject = false;  ///< an every-object list, keyed by query and subject
  ObjectId subject{};
  std::uint32_t count = 0;               ///< neighbours
  std::uint64_t first = 0;               ///< index into TickResult::neighbors
  std::uint64_t first_state = no_state;  ///< index into TickResult::states, if asked for
};

/// How long the parts of a tick took, by the host's clock or the device's.
struct StageTimes {
  double copy_in_ms = 0;  ///< of staged rows to a device, and applying them there
  double build_ms = 0;    ///< building the index; on the CPU applying staged rows first
  double search_ms = 0;
  double diff_ms = 0;      ///< comparing with the last lists and collecting what is reported
  double copy_out_ms = 0;  ///< of reports from a device
};

struct TickResult {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t objects = 0;            ///< alive in the snapshot
  std::span<const ReportedList> lists;  ///< by query slot; its removals, then its updates
  std::span<const Neighbor> neighbors;  ///< room between lists may hold anything
  std::span<const NeighborState> states;
  /// Empty, or of each list what it votes for: nothing where the query does not ask for it or the
  /// list is removed, no_label where none of its objects has a label.
  std::span<const std::optional<Label>> votes;
  std::shared_ptr<const void> owner;  ///< of what the four show; the engine's to use again
  StageTimes times;
  /// Not empty: the tick failed, of what, and what helps. The old lists stand, its rows are kept.
  std::string error;
  /// No later tick of this engine can finish either: its device is lost.
  bool is_engine_lost = false;
};

/// A question outside any stream.
struct OneShotQuery {
  std::uint32_t k = 1;
  AnchorKind anchor = AnchorKind::fixed;  ///< fixed or follow
  LatticePoint position;
  Slot object = no_slot;
  Filter filter;
  std::vector<float> components{};  ///< fixed in a vector space: prepared, as many as its dimension
  bool vote = false;                ///< in a vector space: the answer carries a vote
};

/// Answers, or copies of current lists, all from one finished tick.
struct Answers {
  struct List {
    Slot query = no_slot;  ///< one-shot: index of the question
    bool has_subject = false;
    ObjectId subject{};
    std::uint32_t count = 0;
    std::uint64_t first = 0;                             ///< index into neighbors
    std::uint64_t first_state = ReportedList::no_state;  ///< index into states, if carried
    std::optional<Label> vote{};                         ///< as in TickResult::votes
  };
  Tick tick{};
  std::int64_t tau_us = 0;
  std::vector<List> lists;
  std::vector<Neighbor> neighbors;
  std::vector<NeighborState> states;  ///< only from read_lists, of queries that carry states
  std::string error;                  ///< not empty: there is no answer, why, and what helps
};

/// Everything an engine knows after a tick, finished or failed; importing it into another engine of
/// any kind continues with the same bytes out.
struct EngineState {
  Tick tick{};  ///< the last finished one
  std::int64_t tau_us = 0;
  bool objects_ahead = false;  ///< of that tick and its lists: a tick failed after it
  std::vector<ObjectBirth> births;
  std::vector<ObjectRow> objects;
  std::vector<QueryRow> queries;

  // Of vector spaces, as in Staging.
  std::vector<float> object_components;
  std::vector<Label> object_labels;
  std::vector<float> query_components;

  /// A query that the tick knew, with or without lists: its removal is to be reported.
  struct Query {
    Slot slot = no_slot;
    std::uint32_t generation = 0;
  };
  std::vector<Query> queries_known;  ///< by slot

  /// A list as of the tick: what the next tick's changes are told from.
  struct List {
    Slot query = no_slot;
    std::uint32_t generation = 0;  ///< of the query
    Slot subject = no_slot;        ///< every-object: the subject's slot
    ObjectId subject_id{};
    bool with_state = false;
    std::uint32_t count = 0;
    std::uint64_t first = 0;  ///< index into neighbors and slots
    std::optional<Label> vote{};
  };
  std::vector<List> lists;
  std::vector<Neighbor> neighbors;
  std::vector<Slot> slots;  ///< of the neighbours
};

struct EngineLimits {
  std::uint64_t objects_max = 0;
  std::uint64_t queries_max = 0;
  std::uint32_t k_max = starling::k_max;
  std::uint64_t neighbors_max = 0;  ///< of all lists together
};

/// What an engine holds for its objects, for capacity planning. Staged rows, lists and the working
/// memory of a tick come on top.
struct EngineBytes {
  std::uint64_t state = 0;        ///< positions, times, tags and ids
  std::uint64_t index = 0;        ///< of the last tick
  std::uint64_t spare_index = 0;  ///< into which the next tick builds

  std::uint64_t total() const { return state + index + spare_index; }
};

class Engine {
 public:
  using ResultHandler = std::function<void(std::unique_ptr<TickResult>)>;
  using AnswersHandler = std::function<void(Answers)>;

  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;
  virtual const EngineLimits& limits() const = 0;

  /// Between ticks, from any thread.
  virtual EngineBytes bytes_used() const = 0;

  /// The handler runs on a thread of the engine's, in tick order. Set once, before the first tick.
  virtual void set_result_handler(ResultHandler handler) = 0;

  /// The half to write now; another one after each begin_tick that returned true.
  virtual Staging& staging() = 0;

  /// Swaps the halves and returns at once. False, with nothing changed, while the engine has no
  /// room for another tick: some take one at a time, others take the next in while they compute and
  /// before earlier results have come. All accept once their last result has been delivered. Ticks
  /// behind one that fails are computed from the rows of both.
  virtual bool begin_tick(Tick tick, std::int64_t tau_us) = 0;

  /// Answers from the last finished tick, on a thread of the engine's. Questions at fixed positions
  /// on a lattice without a filter on tags or age do not wait for a tick under way, nor for the
  /// result of the one that they are answered from; others may, and are then answered from it.
  /// Before the first tick: empty lists. After a failed tick, until the next that finishes, the
  /// objects are ahead of the last finished one, and the answer is an error.
  virtual void search_finished(std::vector<OneShotQuery> queries, AnswersHandler handler) = 0;

  /// What search_finished would answer, on the caller's own thread, if that takes microseconds and
  /// waits for nobody; else nothing, and search_finished is to be asked. An engine may always say
  /// nothing.
  virtual std::optional<Answers> answer_at_once(std::span<const OneShotQuery> /*queries*/) {
    return std::nullopt;
  }

  /// Copies the current lists of these queries, behind the ticks begun before, on a thread of the
  /// engine's; the result of the tick that they are from comes first. After a failed tick lists
  /// that carry states cannot be read: the answer is an error.
  virtual void read_lists(std::vector<Slot> queries, AnswersHandler handler) = 0;

  /// Waits for all ticks begun. Staged rows that no tick has taken are not part of the state.
  /// Throws std::bad_alloc if there is no room for the copy.
  virtual EngineState export_state() = 0;

  /// Only on an engine that has not ticked. Throws std::bad_alloc; the engine is then of no use.
  virtual void import_state(const EngineState& state) = 0;
};

}  // namespace starling
