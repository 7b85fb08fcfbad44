// SPDX-License-Identifier: Apache-2.0
// Divides the lists into lists that only need the scores of touched rows and lists that need a
// scan, calls the store for a part of the lists at a time, and settles ties by id: see
// searches.hpp.
#include "starling/knn/vectors/ticks/searches.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "starling/knn/base/assert.hpp"

namespace starling {
namespace {

constexpr std::uint32_t masks_at_once_max = 16;  // each mask has one bit for each slot
constexpr std::size_t entries_at_once_max = std::size_t{1} << 20;
// There are this many matches only if very many scores are equal.
constexpr std::size_t matches_at_once_max = std::size_t{1} << 24;
// If at least 1/touched_share_max of all objects were touched, a scan of all objects costs no more
// than scoring the touched objects and repairing the lists.
constexpr std::uint64_t touched_share_max = 2;

/// Returns a score that is at least as far as the bound `key`. The score may be farther than the
/// bound, so KeptNearest::add compares the objects within the score with the bound itself.
float score_within(RankKey key) {
  const std::uint64_t ordered = to_number(key);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (ordered >= ordered_of(infinity)) return infinity;
  if (ordered <= ordered_of(-infinity)) return -infinity;
  return score_of_ordered(static_cast<std::uint32_t>(ordered));
}

std::uint64_t living(const VectorRows& rows) {
  std::uint64_t count = 0;
  for (const std::uint64_t word : rows.alive)
    count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

}  // namespace

VectorSearches::MaskKey VectorSearches::key_of(const Filter& filter, std::int64_t tau_us) {
  return {filter.tags.required, filter.tags.forbidden, oldest_time_us(tau_us, filter.age_us_max)};
}

bool VectorSearches::is_for_all(const MaskKey& key) {
  return key == MaskKey{0, 0, std::numeric_limits<std::int64_t>::min()};
}

bool VectorSearches::passes(Slot slot, const MaskKey& key) const {
  const auto& [required, forbidden, time_us_min] = key;
  return objects_.passes(slot, {required, forbidden}, time_us_min);
}

KeptNearest::Entry VectorSearches::entry_of(const VectorNeighbor& row) const {
  return {{rank_key_of(row.score), objects_.id(row.row)}, row.row};
}

VectorSearches::Ask VectorSearches::ask_for(const VectorPlan::Search& search, KeptNearest& kept,
                                            std::int64_t tau_us) const {
  const QueryRow& row = queries_.row(search.query);
  Ask ask{.kept = &kept,
          .query = {},
          .room = KeptNearest::room_of(row.k),
          .key = key_of(row.filter, tau_us)};
  ask.query.self = search.anchor;
  if (search.anchor == no_slot) ask.query.components = queries_.components(search.query);
  return ask;
}

// Lists that continue keep their entries. The other lists start with nothing known.
void VectorSearches::take_over(const VectorPlan& plan, const ListMatching* matching) {
  if (matching == nullptr && kept_.size() == plan.searches.size()) return;
  std::vector<KeptNearest> last = std::move(kept_);
  kept_ = std::vector<KeptNearest>(plan.searches.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Slot query = plan.searches[i].query;
    const std::uint32_t before =
        matching == nullptr ? ListMatching::none : matching->last_search[i];
    if (before < last.size() && !queries_.is_other_search(query))
      kept_[i] = std::move(last[before]);
    else
      kept_[i].ask(queries_.row(query).k, queries_.row(query).filter);
  }
}

void VectorSearches::update(const VectorPlan& plan, const ListMatching* matching,
                            const VectorRows& applied, std::int64_t tau_us) {
  take_over(plan, matching);
  const std::uint64_t touched = living(applied);
  const bool scans_all = touched * touched_share_max >= objects_.alive_count();
  near_.clear();
  scan_.clear();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    KeptNearest& kept = kept_[i];
    const Slot anchor = plan.searches[i].anchor;
    if (anchor != no_slot && !objects_.is_known_alive(anchor)) {
      kept.know_nobody();  // when the anchor returns, it is touched, and the list is searched
      continue;
    }
    const Ask ask = ask_for(plan.searches[i], kept, tau_us);
    const bool has_moved = anchor != no_slot && objects_.is_touched(anchor);
    if ((scans_all && touched > 0) || has_moved || kept.is_unknown()) {
      scan_.push_back(ask);
      continue;
    }
    const bool all_pass = is_for_all(ask.key);
    kept.drop_if([&](Slot slot) {
      return objects_.is_touched(slot) || !(all_pass || passes(slot, ask.key));
    });
    near_.push_back(ask);
  }
  if (touched > 0 && !near_.empty()) add_applied(applied);
  for (const Ask& ask : near_)
    if (!ask.kept->is_certain()) scan_.push_back(ask);
  scan();
}

// Touched objects have been removed from the lists; add_applied adds the touched objects that are
// near enough now. It handles a part of the lists at a time, so that the numbers of matches and
// masks are bounded.
void VectorSearches::add_applied(const VectorRows& applied) {
  const std::size_t most = std::max<std::size_t>(1, matches_at_once_max / applied.slots.size());
  for (std::span<Ask> rest = near_; !rest.empty();) {
    mask_numbers_.clear();
    mask_words_.clear();
    asked_.clear();
    while (asked_.size() < std::min(most, rest.size())) {
      Ask& ask = rest[asked_.size()];
      if (mask_numbers_.size() == masks_at_once_max && !is_for_all(ask.key) &&
          !mask_numbers_.contains(ask.key))
        break;
      ask.query.mask = mask_of_applied(ask.key, applied);
      ask.query.score_max = score_within(ask.kept->horizon().key);
      asked_.push_back(ask.query);
    }
    add_matches(rest.first(asked_.size()), applied);
    rest = rest.subspan(asked_.size());
  }
}

void VectorSearches::add_matches(std::span<const Ask> some, const VectorRows& applied) {
  matches_.clear();
  store_.near_applied(applied, asked_, {mask_words_, applied.alive.size()}, matches_);
  std::ranges::sort(matches_, {}, &VectorMatch::query);
  for (auto match = matches_.begin(); match != matches_.end();) {
    const std::uint32_t query = match->query;
    KeptNearest& kept = *some[query].kept;
    for (; match != matches_.end() && match->query == query; ++match)
      kept.add(entry_of(match->row));
    kept.settle();
  }
}

std::uint32_t VectorSearches::mask_of_applied(const MaskKey& key, const VectorRows& applied) {
  if (is_for_all(key)) return no_mask;
  const auto [known, is_new] =
      mask_numbers_.try_emplace(key, static_cast<std::uint32_t>(mask_numbers_.size()));
  if (!is_new) return known->second;
  const std::size_t first = mask_words_.size();
  mask_words_.resize(first + applied.alive.size());
  for (std::size_t i = 0; i < applied.slots.size(); ++i)
    if (applied.is_alive(i) && passes(applied.slots[i], key))
      mask_words_[first + i / 64] |= std::uint64_t{1} << i % 64;
  return known->second;
}

// One scan serves several lists of the same length, up to the limits on entries and masks. The
// lists are ordered by filter, so that few masks are needed, then by the anchor's slot, so that
// rows are read in order.
void VectorSearches::scan() {
  std::ranges::sort(scan_, {},
                    [](const Ask& ask) { return std::tuple(ask.room, ask.key, ask.query.self); });
  for (std::span<Ask> rest = scan_; !rest.empty();) {
    const std::size_t most = std::max<std::size_t>(1, entries_at_once_max / rest[0].room);
    std::size_t count = 0;
    std::uint32_t masks = 0;
    for (; count < std::min(most, rest.size()) && rest[count].room == rest[0].room; ++count) {
      if (count > 0 && rest[count].key == rest[count - 1].key) continue;
      if (masks == masks_at_once_max) break;
      ++masks;
    }
    scan_some(rest.first(count));
    rest = rest.subspan(count);
  }
}

void VectorSearches::scan_some(std::span<Ask> some) {
  mask_words_.clear();
  asked_.clear();
  std::uint32_t masks = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const bool is_same = i > 0 && some[i].key == some[i - 1].key;
    if (is_same) {
      some[i].query.mask = some[i - 1].query.mask;
    } else if (is_for_all(some[i].key)) {
      some[i].query.mask = no_mask;
    } else {
      const auto& [required, forbidden, time_us_min] = some[i].key;
      objects_.append_mask({required, forbidden}, time_us_min, mask_words_);
      some[i].query.mask = masks++;
    }
    asked_.push_back(some[i].query);
  }
  const std::uint32_t room = some[0].room;
  found_.resize(some.size() * room);
  store_.nearest(asked_, {mask_words_, objects_.mask_words()}, room, found_);
  for (std::size_t i = 0; i < some.size(); ++i) {
    entries_.clear();
    for (const VectorNeighbor& row : std::span(found_).subspan(i * room, room))
      if (row.row != no_row) entries_.push_back(entry_of(row));
    some[i].kept->take_scan(entries_, entries_.size() < room);
    if (!some[i].kept->is_certain()) settle_ties(some[i], found_[(i + 1) * room - 1].score);
  }
}

// The scan may have left out objects with the same score as the last found object. Finds all
// objects up to this score, so that their ids can be compared.
void VectorSearches::settle_ties(const Ask& ask, float score) {
  VectorQuery query = ask.query;
  query.score_max = score;
  matches_.clear();
  store_.near_any({&query, 1}, {mask_words_, objects_.mask_words()}, matches_);
  entries_.clear();
  for (const VectorMatch& match : matches_) entries_.push_back(entry_of(match.row));
  ask.kept->take_within(entries_, rank_key_of(score));
  check_invariant(ask.kept->is_certain(), "all objects that may be in the list were found");
}

std::vector<KeptNearest> VectorSearches::answer(std::span<const OneShotQuery> questions,
                                                std::int64_t tau_us) {
  std::vector<KeptNearest> answers(questions.size());
  scan_.clear();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const OneShotQuery& question = questions[i];
    answers[i].ask(question.k, question.filter);
    const bool follows = question.anchor == AnchorKind::follow;
    if (follows && !objects_.is_known_alive(question.object)) {
      answers[i].know_nobody();
      continue;
    }
    Ask ask{.kept = &answers[i],
            .query = {},
            .room = KeptNearest::room_of(question.k),
            .key = key_of(question.filter, tau_us)};
    if (follows)
      ask.query.self = question.object;
    else
      ask.query.components = question.components.data();
    scan_.push_back(ask);
  }
  scan();
  return answers;
}

}  // namespace starling
