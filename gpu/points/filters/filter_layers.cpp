// SPDX-License-Identifier: Apache-2.0
// For each filter, estimates what its searches cost with a layer and without one. The estimate uses
// the exact number of objects that pass: see filter_layers.hpp.
#include "starling/gpu/points/filters/filter_layers.hpp"

#include <algorithm>

#include "starling/gpu/points/index/tree_view.hpp"

namespace starling::gpu {
namespace {

// Costs in nanoseconds, measured on one H200:
// lone_visit_ns: to read and reject an object, in a search that runs alone.
// visit_ns: to read and reject an object, if many searches fill the device.
// place_ns: to put an object into a layer.
// list_ns: to test an object for one more layer.
// layer_ns: to build one more layer, apart from its objects.
constexpr double lone_visit_ns = 20;
constexpr double visit_ns = 0.006;
constexpr double place_ns = 0.2;
constexpr double list_ns = 0.0008;
constexpr double layer_ns = 50;
/// The fixed cost of the kernels that build layers, in a tick that has any layers.
constexpr double layers_ns = 30'000;
/// A search reads about this many passing objects for each neighbour that it finds.
constexpr double visits_per_neighbor = 2;

/// Layers 1, 2 and so on together have at most this many entries for each living object. This
/// bounds the memory.
constexpr double placed_share_max = 4;
/// A tree's key has bits for this many layers.
constexpr std::uint32_t layers_max = (1u << layer_bits) - 1;
/// Counting makes at most this many tests, which take about a millisecond. If this is not enough
/// for all filters, the filters with the highest numbers are not counted and get no layer.
constexpr std::uint64_t tests_max = 5'000'000'000;

/// Returns how much time a layer for `filter` saves in a tick. It does not subtract layers_ns.
/// `passing` of the `alive` living objects pass the filter.
double saved_ns(const QueryFilter& filter, double passing, double alive) {
  const double needed = visits_per_neighbor * static_cast<double>(filter.neighbors) +
                        visits_per_neighbor * static_cast<double>(filter.every_object) * alive;
  const double searches =
      static_cast<double>(filter.searches) + (filter.every_object > 0 ? alive : 0);
  const double read_by_one = std::min(needed / searches * alive / passing, alive);
  const double among_all_ns = read_by_one * (lone_visit_ns + searches * visit_ns);
  const double in_layer_ns =
      std::min(needed / searches, passing) * (lone_visit_ns + searches * visit_ns);
  return among_all_ns - in_layer_ns - passing * place_ns - alive * list_ns - layer_ns;
}

}  // namespace

FilterLayers::FilterLayers(DeviceMemory& memory, std::uint32_t group)
    : group_(group),
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
    filters.push_back({filter.tags, filter.age_us_max});
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
  counted_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(queries_.filters().size(), most));
  count_passing_async(objects, filters_.data(), counted_, tau_us, counts_.data(), stream);
  tell_counts_async(counts_.data(), counted_, host_counts_.data(), stream);
}

void FilterLayers::choose(std::uint32_t alive) {
  const std::vector<QueryFilter>& filters = queries_.filters();
  host_routes_.reserve(filters.size());
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
    const double saved = saved_ns(filters[i], passing, alive);
    if (saved <= 0) continue;
    saved_in_all_ns += saved;
    worth.push_back(i);
  }
  if (saved_in_all_ns < 0) worth.clear();
  // Filters that fewer objects pass come first: their layers save more time and need less memory.
  std::ranges::sort(worth, {}, [&](std::uint32_t filter) { return host_counts_[filter]; });
  constexpr double places_max = 0x1p32 - 0x1p24;  // a place is a 32-bit number
  const double placed_max = std::min(placed_share_max * alive, places_max - alive);
  for (const std::uint32_t filter : worth) {
    const double placed = static_cast<double>(view_.object_count) + host_counts_[filter];
    if (placed > placed_max || view_.count == layers_max) break;
    add_layer(filter);
  }
  view_.has_tests_in_layer_0 =
      std::any_of(host_routes_.data(), host_routes_.data() + filters.size(),
                  [](const FilterRoute& route) { return route.has_tests && route.count > 0; });
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
  list_passing_async(objects, filters_.data(), choice, view_.count, tau_us, output, stream);
  view_.ages = {ages_us_.data(), static_cast<std::uint32_t>(queries_.ages_us().size()), tau_us};
  view_.layers = layers_.data();
  view_.entries = entries_.data();
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
