// SPDX-License-Identifier: Apache-2.0
// For each filter, estimates what its searches cost with a layer and without one. The estimate uses
// the exact number of objects that pass: see filter_layers.hpp.
#include "starling/gpu/points/filters/filter_layers.hpp"

#include <algorithm>

#include "starling/gpu/points/index/tree_view.hpp"

namespace starling::gpu {
namespace {

// Costs in nanoseconds, measured on one H200:
// visit_ns: to read and reject an object, if many searches fill the device.
// lone_visit_ns: to read and reject an object, in a search that runs alone.
// place_ns: to put an object into a layer.
// list_ns: to test an object for one more layer.
// layer_ns: to build one more layer, apart from its objects.
constexpr double visit_ns = 0.015;
constexpr double lone_visit_ns = 20;
constexpr double place_ns = 0.08;
constexpr double list_ns = 0.0003;
constexpr double layer_ns = 20;
/// The fixed cost of the kernels that build layers, in a tick that has any layers.
constexpr double layers_ns = 30'000;
/// A search reads about this many passing objects for each neighbour that it finds.
constexpr double visits_per_neighbor = 2;

/// Layers 1, 2 and so on together have at most this many entries for each living object.
constexpr double placed_share_max = 16;
/// The most bytes that an entry takes, roughly, in the buffers of FilterLayers and of the index
/// together.
constexpr std::uint64_t entry_bytes_max = 96;
/// A tree's key has bits for this many layers.
constexpr std::uint32_t layers_max = (1u << layer_bits) - 1;
/// Counting makes at most this many tests, which take about a millisecond. If more tests would be
/// needed, the filters with the highest numbers are not counted and get no layer.
constexpr std::uint64_t tests_max = 10'000'000'000;
/// The most filters that are counted. A launch can serve this many filters: it may have almost 2^16
/// blocks along y, and a block takes up to filters_a_block_max filters.
constexpr std::uint64_t counted_max = 1 << 24;

/// Returns how many nanoseconds a layer for `filter` saves in a tick. Does not subtract layers_ns.
/// `passing` of the `alive` living objects pass the filter. The searches of all `filters` filters
/// run at the same time, so each filter bears only its share of lone_visit_ns.
double saved_ns(const QueryFilter& filter, std::size_t filters, double passing, double alive) {
  const double needed = visits_per_neighbor * static_cast<double>(filter.neighbors) +
                        visits_per_neighbor * static_cast<double>(filter.every_object) * alive;
  const double searches =
      static_cast<double>(filter.searches) + (filter.every_object > 0 ? alive : 0);
  const double visit_by_all_ns = searches * visit_ns + lone_visit_ns / static_cast<double>(filters);
  const double read_by_one = std::min(needed / searches * alive / passing, alive);
  const double among_all_ns = read_by_one * visit_by_all_ns;
  const double in_layer_ns = std::min(needed / searches, passing) * visit_by_all_ns;
  return among_all_ns - in_layer_ns - passing * place_ns - alive * list_ns - layer_ns;
}

}  // namespace

FilterLayers::FilterLayers(DeviceMemory& memory, std::uint32_t group)
    : memory_(&memory),
      group_(group),
      filters_(memory),
      ages_us_(memory),
      counts_(memory),
      device_routes_(memory),
      numbers_(memory),
      layers_(memory),
      cursors_(memory),
      entries_(memory) {}

void FilterLayers::assign(std::span<const QueryRow> queries, const CudaStream& stream) {
  queries_.assign(queries);
  const std::size_t count = queries_.filters().size();
  std::vector<DeviceFilter> filters;
  filters.reserve(count);
  for (const QueryFilter& filter : queries_.filters())
    filters.push_back({filter.tags, filter.least_rank});
  filters_.reserve(count);
  counts_.reserve_cleared(count, stream);
  device_routes_.reserve(count);
  numbers_.reserve(count);
  layers_.reserve(count);
  cursors_.reserve(count);
  host_counts_.reserve(count);
  host_routes_.reserve(count);
  host_numbers_.reserve(count);
  host_layers_.reserve(count);
  if (count == 0) return;
  ages_us_.reserve(queries_.ages_us().size());
  copy_to_device_async(std::span<const std::int64_t>(queries_.ages_us()), ages_us_, stream);
  copy_to_device_async(std::span<const DeviceFilter>(filters), filters_, stream);
  check(cudaMemsetAsync(counts_.data(), 0, count * sizeof(std::uint32_t), stream.get()));
  stream.wait();
}

void FilterLayers::count_async(const ObjectsView& objects, std::int64_t tau_us,
                               const CudaStream& stream) {
  const std::uint64_t most = tests_max / std::max<std::uint64_t>(objects.slots, 1);
  counted_ = static_cast<std::uint32_t>(
      std::min({std::uint64_t{queries_.filters().size()}, most, counted_max}));
  count_passing_async(objects, filters_.data(), counted_, age_limits(tau_us), counts_.data(),
                      stream);
  tell_counts_async(counts_.data(), counted_, host_counts_.data(), stream);
}

void FilterLayers::choose(std::uint32_t alive) {
  const std::vector<QueryFilter>& filters = queries_.filters();
  view_ = {};
  std::vector<std::uint32_t> worth;
  double saved_in_all_ns = -layers_ns;
  for (std::uint32_t i = 0; i < filters.size(); ++i) {
    const std::uint32_t passing = i < counted_ ? host_counts_[i] : alive;
    FilterRoute& route = host_routes_[i];
    route = {.layer = 0, .first = 0, .count = passing == 0 ? 0 : alive};
    route.least_rank = filters[i].least_rank;
    route.has_tests = passing < alive || (i >= counted_ && !filters[i].accepts_all());
    if (passing == 0 || passing == alive) continue;
    route.passing_share = static_cast<float>(passing) / static_cast<float>(alive);
    const double saved = saved_ns(filters[i], filters.size(), passing, alive);
    if (saved <= 0) continue;
    saved_in_all_ns += saved;
    worth.push_back(i);
  }
  if (saved_in_all_ns < 0) worth.clear();
  // Filters that fewer objects pass come first: their layers save more time and need less memory.
  std::ranges::sort(worth, {}, [&](std::uint32_t filter) { return host_counts_[filter]; });
  const std::uint64_t most = entries_max(worth, alive);
  for (const std::uint32_t filter : worth) {
    const std::uint64_t entries = std::uint64_t{view_.entry_count} + host_counts_[filter] + group_;
    if (entries > most || view_.count == layers_max) break;
    add_layer(filter);
  }
  view_.has_tests_in_layer_0 =
      std::any_of(host_routes_.data(), host_routes_.data() + filters.size(),
                  [](const FilterRoute& route) { return route.has_tests && route.count > 0; });
}

std::uint64_t FilterLayers::entries_max(const std::vector<std::uint32_t>& worth,
                                        std::uint32_t alive) const {
  constexpr double places_max = 0x1p32 - 0x1p24;  // a place is a 32-bit number
  std::uint64_t wanted = 0;
  for (const std::uint32_t filter : worth) wanted += host_counts_[filter] + group_;
  wanted = std::min(
      wanted, static_cast<std::uint64_t>(std::min(placed_share_max * alive, places_max - alive)));
  if (wanted <= entries_.room()) return wanted;
  // Layers take at most half of the sum of their own memory and the memory that is left. The other
  // half remains for objects, queries and lists. A buffer grows by at least an eighth. If less
  // memory than that is available, the layers use only the room that they have.
  const std::uint64_t room = entries_.room();
  const std::uint64_t most = (room * entry_bytes_max + memory_->bytes_left()) / 2 / entry_bytes_max;
  return std::min(wanted, most < room + room / 8 ? room : most);
}

void FilterLayers::add_layer(std::uint32_t filter) {
  const std::uint32_t passing = host_counts_[filter];
  const std::uint32_t first = view_.entry_count;
  host_numbers_[view_.count] = filter;
  host_layers_[view_.count] = {.first = first, .count = passing};
  ++view_.count;
  view_.object_count += passing;
  view_.entry_count += (passing + group_ - 1) / group_ * group_;
  host_routes_[filter] = {.layer = view_.count, .first = first, .count = passing};
}

void FilterLayers::list_async(const ObjectsView& objects, std::int64_t tau_us,
                              const CudaStream& stream) {
  const auto filters = static_cast<std::uint32_t>(queries_.filters().size());
  entries_.reserve(view_.entry_count);
  const LayerChoice choice = {device_routes_.data(), numbers_.data(), layers_.data()};
  const LayerOutput output = {cursors_.data(), entries_.data()};
  take_choice_async({host_routes_.data(), host_numbers_.data(), host_layers_.data()}, choice,
                    filters, view_.count, group_, output, stream);
  view_.ages = age_limits(tau_us);
  list_passing_async(objects, filters_.data(), choice, view_.count, view_.ages, output, stream);
  view_.layers = layers_.data();
  view_.entries = entries_.data();
}

AgeLimits FilterLayers::age_limits(std::int64_t tau_us) const {
  return {ages_us_.data(), static_cast<std::uint32_t>(queries_.ages_us().size()), tau_us};
}

const FilterRoute* FilterLayers::routes() const {
  return queries_.filters().empty() ? nullptr : device_routes_.data();
}

std::uint64_t FilterLayers::bytes_used() const {
  return filters_.room() * sizeof(DeviceFilter) + ages_us_.room() * sizeof(std::int64_t) +
         counts_.room() * sizeof(std::uint32_t) + device_routes_.room() * sizeof(FilterRoute) +
         layers_.room() * sizeof(Layer) +
         (numbers_.room() + cursors_.room()) * sizeof(std::uint32_t) +
         entries_.room() * sizeof(LayerEntry);
}

}  // namespace starling::gpu
