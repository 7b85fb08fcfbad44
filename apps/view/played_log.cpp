// SPDX-License-Identifier: Apache-2.0
// Applies the log to tables. For each tick, sends the server the objects that have changed since
// the tick before: see played_log.hpp. The log's tables have already handled late rows and times to
// live.
#include "starling/apps/view/played_log.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "starling/apps/shared/text/time_line.hpp"
#include "starling/knn/words/lattice.hpp"
#include "starling/log/system_files.hpp"
#include "starling/sim/data/traces/name_table.hpp"
#include "starling/stream/recovery/log_run.hpp"

namespace starling::apps {
namespace {

/// Longer names are not shown.
constexpr std::uint32_t name_bytes_max = 4000;

/// The objects as the host has them, by their slots in the log's tables.
class ShownObjects {
 public:
  explicit ShownObjects(sim::ServerHost& host) : host_(host), lattice_(host.space()) {}

  /// Runs a tick of the host with the objects that the tables have now.
  void show(stream::ReplayedTables& tables, std::int64_t tau_us) {
    const ObjectTable& objects = tables.processor().objects();
    shown_.resize(std::max<std::size_t>(shown_.size(), objects.slot_end()));
    if (!std::exchange(has_snapshot_names_, true))
      for (const auto& name : tables.names().export_state())
        learn_name(to_number(name.id), name.text);
    const bool has_older_rows = remove_what_left(objects);
    // An extra tick at the time of the last tick makes the host forget the removed objects, so that
    // it accepts older rows of them. In this tick, the host has none of these objects.
    if (has_older_rows) host_.advance(tau_us_, {});
    put_what_changed(objects);
    check(host_.settle());
    host_.put_names(new_names_, "objects' names");
    new_names_ = {};
    host_.advance(tau_us, {});
    tau_us_ = tau_us;
  }

  /// Notes a name that the host does not have yet. The name of an id never changes.
  void learn_name(std::uint64_t id, std::string_view text) {
    if (text.size() <= name_bytes_max && named_.insert(id).second) new_names_.put(id, text);
  }

 private:
  struct Shown {
    LiveObject object{};
    bool is_shown = false;
  };

  /// Removes the shown objects that have left. Returns true if one of them is back with an older
  /// row, which happens if the log's tables had forgotten the object.
  bool remove_what_left(const ObjectTable& objects) {
    std::vector<ObjectRemoval> removals;
    for (Slot slot = 0; slot < shown_.size(); ++slot) {
      Shown& shown = shown_[slot];
      if (!shown.is_shown || is_still_there(objects, slot)) continue;
      shown.is_shown = false;
      removals.push_back({shown.object.id, shown.object.time_us});
    }
    host_.remove_objects(removals);
    bool has_older_rows = false;
    for (const ObjectRemoval& removal : removals)
      if (const Slot slot = objects.find(removal.id); slot != no_slot && objects.is_alive(slot))
        has_older_rows |= objects.object_at(slot).time_us < removal.time_us;
    return has_older_rows;
  }

  /// Returns true if the slot still has the shown object, with the same or a newer row.
  bool is_still_there(const ObjectTable& objects, Slot slot) const {
    if (slot >= objects.slot_end() || !objects.is_alive(slot)) return false;
    const LiveObject now = objects.object_at(slot);
    return now.id == shown_[slot].object.id && now.time_us >= shown_[slot].object.time_us;
  }

  void put_what_changed(const ObjectTable& objects) {
    std::vector<sim::TraceRow> rows;
    for (Slot slot = 0; slot < objects.slot_end(); ++slot) {
      if (!objects.is_alive(slot)) continue;
      const LiveObject now = objects.object_at(slot);
      Shown& shown = shown_[slot];
      if (shown.is_shown && now.time_us == shown.object.time_us &&
          now.position == shown.object.position && now.tags == shown.object.tags)
        continue;
      shown = {now, true};
      rows.push_back({.id = now.id,
                      .time_us = now.time_us,
                      .position = lattice_.to_position(now.position),
                      .tags = now.tags,
                      .has_tags = true});
    }
    host_.put_objects(rows);
  }

  /// Late rows are allowed, because another client may have changed an object over HTTP.
  static void check(const sim::RowCounts& counts) {
    if (counts.rejected > 0)
      throw std::runtime_error("the server of this view rejected " +
                               std::to_string(counts.rejected) + " rows of the log");
  }

  sim::ServerHost& host_;
  Lattice lattice_;
  std::vector<Shown> shown_;
  std::int64_t tau_us_ = 0;  ///< tau of the tick that is shown
  bool has_snapshot_names_ = false;
  std::unordered_set<std::uint64_t> named_;  ///< ids whose names the host has, or gets next
  sim::NameTable new_names_;
};

class PlayedLog : public PlayedSource {
 public:
  explicit PlayedLog(const ViewPlan& plan)
      : files_(log::open_folder(plan.journal, log::FolderUse::read)),
        log_(*files_, {.make_engine = snapshot_engine,
                       .from_us = plan.log_span.from_us,
                       .until_us = plan.log_span.until_us,
                       .is_cancelled = [this] { return has_pass_ended(); }}),
        taus_(log_.taus(plan.log_span)) {
    if (log_.space().is_vector())
      throw std::runtime_error("the log in " + plan.journal +
                               " holds vectors, but the page shows positions; read its lists with "
                               "starling replay --journal");
    if (taus_.empty())
      throw std::runtime_error(no_tick_sentence(
          plan.journal, stream::LogRun(*files_, {.make_engine = snapshot_engine}).taus({})));
  }

  void set_up(stream::ServerOptions& options) const override {
    options.processor.space = log_.space();
    options.processor.objects.object_ttl_us = ObjectTableOptions::never_us;
    options.processor.objects.tombstone_ttl_us = 0;  // see ShownObjects::show
    options.limits.text_bytes_max = name_bytes_max;
    options.names = {.names_max = no_bound, .bytes_max = no_bound};
    options.sessions.names_max = no_bound;
  }

  Span begin_pass() override { return {taus_.front(), taus_.back()}; }

  void play(sim::ServerHost& host, Playback& clock) override {
    clock_ = &clock;
    try {
      play_ticks(host);
    } catch (const stream::LogRunCancelled&) {
      throw PassEnds{end_of_pass_};
    }
  }

 private:
  static constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

  void play_ticks(sim::ServerHost& host) {
    ShownObjects objects(host);
    std::size_t next = 0;  // index in taus_
    log_.follow([&](const stream::JournalRecord& applied) {
      if (const auto* request = std::get_if<stream::RequestRecord>(&applied)) {
        if (const auto* names = std::get_if<stream::NamesChange>(&request->change))
          for (std::size_t i = 0; i < names->ids.size(); ++i)
            objects.learn_name(names->ids[i], names->texts[i]);
        return true;
      }
      const auto* tick = std::get_if<stream::TickBegunRecord>(&applied);
      if (tick == nullptr || tick->tau_us < taus_[next]) return true;
      ++next;
      wait_for(*clock_, tick->tau_us - taus_.front());
      const bool is_last = next == taus_.size();
      // A tick is left out if the next one is already due.
      if (is_last || !clock_->is_over(taus_[next] - taus_.front()))
        objects.show(log_.tables(), tick->tau_us);
      return !is_last;
    });
  }

  bool has_pass_ended() {
    end_of_pass_ = clock_ == nullptr ? Playback::Wake::due : clock_->wake();
    return end_of_pass_ != Playback::Wake::due;
  }

  Playback* clock_ = nullptr;  ///< clock of the pass under way
  Playback::Wake end_of_pass_{};
  std::unique_ptr<log::Files> files_;
  stream::LogRun log_;
  std::vector<std::int64_t> taus_;  ///< tau of each tick that is played
};

}  // namespace

std::unique_ptr<PlayedSource> make_played_log(const ViewPlan& plan) {
  return std::make_unique<PlayedLog>(plan);
}

}  // namespace starling::apps
