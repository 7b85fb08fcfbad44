// SPDX-License-Identifier: Apache-2.0
// Draws rows of each shape: see rows.hpp.
#include "tests/vectors/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace starling::test {
namespace {

constexpr std::array<std::pair<RowShape, std::string_view>, 15> shape_names{{
    {RowShape::uniform, "uniform"},
    {RowShape::negative, "negative"},
    {RowShape::gaussian_at_10, "gaussian at 10"},
    {RowShape::gaussian_at_100, "gaussian at 100"},
    {RowShape::gaussian_at_1000, "gaussian at 1000"},
    {RowShape::all_equal, "all equal"},
    {RowShape::many_duplicates, "many duplicates"},
    {RowShape::tight_clusters, "tight clusters"},
    {RowShape::utm_grid, "UTM grid"},
    {RowShape::small_integers, "small integers"},
    {RowShape::subnormal, "subnormal"},
    {RowShape::subnormal_squares, "subnormal squares"},
    {RowShape::largest, "largest"},
    {RowShape::largest_and_smallest, "largest and smallest"},
    {RowShape::mostly_zero, "mostly zero"},
}};

constexpr std::uint32_t duplicated_rows = 7;
constexpr std::uint32_t cluster_centres = 4;
constexpr std::uint32_t grid_columns = 40;

float uniform(Random& random) {
  return static_cast<float>(random.next() >> 40) * 0x1p-24f;
}

float signed_uniform(Random& random) {
  return 2 * uniform(random) - 1;
}

float gaussian(double mean, Random& random) {
  return static_cast<float>(mean + random.normal());
}

float largest(Random& random) {
  const float size = random.chance(0.5) ? component_max : component_max * uniform(random);
  return random.chance(0.5) ? size : -size;
}

float subnormal(Random& random) {
  return static_cast<float>(random.between(-1000, 1000)) * 0x1p-149f;
}

// Draws one component of a row, for shapes with independent components.
float draw_component(RowShape shape, Random& random) {
  switch (shape) {
    case RowShape::negative:
      return -1 + uniform(random);
    case RowShape::gaussian_at_10:
      return gaussian(10, random);
    case RowShape::gaussian_at_100:
      return gaussian(100, random);
    case RowShape::gaussian_at_1000:
      return gaussian(1000, random);
    case RowShape::small_integers:
      return static_cast<float>(random.between(-3, 3));
    case RowShape::subnormal:
      return subnormal(random);
    case RowShape::subnormal_squares:
      return signed_uniform(random) * 0x1p-68f;
    case RowShape::largest:
      return largest(random);
    case RowShape::largest_and_smallest:
      return random.chance(0.5) ? largest(random) : subnormal(random);
    case RowShape::mostly_zero:
      return random.chance(0.9) ? 0.0f : uniform(random);
    default:
      return uniform(random);
  }
}

// Makes every row from row `originals` on a copy of one of the first `originals` rows. If
// `with_steps`, some components of the copies are one unit in the last place off.
void repeat_rows(std::vector<float>& components, std::uint32_t dimension, std::uint32_t originals,
                 bool with_steps, Random& random) {
  const std::size_t rows = components.size() / dimension;
  for (std::size_t row = originals; row < rows; ++row) {
    const std::size_t original = random.below(originals);
    for (std::size_t j = 0; j < dimension; ++j) {
      float component = components[original * dimension + j];
      if (with_steps && random.chance(0.3))
        component = std::nextafter(component, random.chance(0.5) ? 1e6f : -1e6f);
      components[row * dimension + j] = component;
    }
  }
}

void lay_grid(std::vector<float>& components, std::uint32_t dimension) {
  constexpr float origin[] = {500'000, 4'649'776};
  for (std::size_t i = 0; i < components.size(); ++i) {
    const std::size_t row = i / dimension;
    const std::size_t axis = i % dimension % 2;
    const std::size_t step = axis == 0 ? row % grid_columns : row / grid_columns;
    components[i] = origin[axis] + static_cast<float>(step);
  }
}

}  // namespace

std::string_view to_string(RowShape shape) {
  for (const auto& [named, name] : shape_names)
    if (named == shape) return name;
  return "";
}

const std::vector<RowShape>& row_shapes() {
  static const std::vector<RowShape> all = [] {
    std::vector<RowShape> shapes;
    for (const auto& [shape, name] : shape_names) shapes.push_back(shape);
    return shapes;
  }();
  return all;
}

std::vector<float> draw_rows(RowShape shape, Metric metric, std::uint32_t rows,
                             std::uint32_t dimension, Random& random) {
  std::vector<float> components(std::size_t{rows} * dimension);
  for (float& component : components) component = draw_component(shape, random);
  if (shape == RowShape::all_equal) repeat_rows(components, dimension, 1, false, random);
  if (shape == RowShape::many_duplicates)
    repeat_rows(components, dimension, duplicated_rows, false, random);
  if (shape == RowShape::tight_clusters) {
    for (float& component : components) component *= 1000;
    repeat_rows(components, dimension, cluster_centres, true, random);
  }
  if (shape == RowShape::utm_grid) lay_grid(components, dimension);
  if (!allows_negatives(metric))
    for (float& component : components) component = std::fabs(component);
  return components;
}

}  // namespace starling::test
