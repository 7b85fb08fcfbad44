// SPDX-License-Identifier: Apache-2.0
// Turns a recipe that is known at run time into a template argument. The files that launch kernels
// for all recipes include it.
#pragma once

#include <type_traits>

#include "starling/knn/words/recipe.hpp"

namespace starling::gpu {

/// Calls act(constant) and returns its result; decltype(constant)::value is `recipe`.
template <class Act>
auto with_recipe(Recipe recipe, const Act& act) {
  switch (recipe) {
    case Recipe::product:
      return act(std::integral_constant<Recipe, Recipe::product>());
    case Recipe::absolute_differences:
      return act(std::integral_constant<Recipe, Recipe::absolute_differences>());
    case Recipe::largest_difference:
      return act(std::integral_constant<Recipe, Recipe::largest_difference>());
    case Recipe::jensen_shannon:
      return act(std::integral_constant<Recipe, Recipe::jensen_shannon>());
    case Recipe::kullback_leibler:
      return act(std::integral_constant<Recipe, Recipe::kullback_leibler>());
    case Recipe::squared_differences:
      break;
  }
  return act(std::integral_constant<Recipe, Recipe::squared_differences>());
}

}  // namespace starling::gpu
