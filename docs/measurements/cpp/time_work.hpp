// SPDX-License-Identifier: Apache-2.0
// The work that time_one_header.cpp and time_own_headers.cpp do by other headers: 100,000 objects
// move on a plane, 10,000 standing queries have the 10 nearest. Each program gives four functions.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

constexpr std::size_t objects = 100'000;
constexpr std::size_t queries = 10'000;
constexpr std::uint32_t k = 10;
constexpr int rounds = 41;

using Coordinates = std::vector<double>;  // x, y of each

template <class Call>
double least_us(int times, const Call& call) {
  double least = 1e300;
  for (int i = 0; i < times; ++i) {
    const auto from = std::chrono::steady_clock::now();
    call(i);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - from;
    least = std::min(least, took.count());
  }
  return least;
}

/// `work` has put(places), update(places, time_us), update_one(id, x, y), tick(tau_us) and ask(x,
/// y); the last two return a sum of distances.
template <class Work>
void time_work(const char* name, Work& work) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> place_m(0, 10'000);
  const auto places_of = [&](std::size_t count) {
    Coordinates places(2 * count);
    for (double& coordinate : places) coordinate = place_m(random);
    return places;
  };
  work.put(places_of(queries));
  const std::array<Coordinates, 2> places{places_of(objects), places_of(objects)};
  double sum = 0;
  double update_us = 1e300;
  double tick_us = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const Coordinates& now = places[static_cast<std::size_t>(round % 2)];
    update_us = std::min(update_us, least_us(1, [&](int) { work.update(now, round); }));
    tick_us = std::min(tick_us, least_us(1, [&](int) { sum += work.tick(round); }));
  }
  const double one_us = least_us(rounds, [&](int) {
    for (std::size_t id = 0; id < 1'000; ++id) work.update_one(id, places[0][2 * id], places[0][0]);
  });
  work.tick(rounds);
  const double ask_us = least_us(20'000, [&](int i) {
    sum += work.ask(places[0][static_cast<std::size_t>(i)], places[1][static_cast<std::size_t>(i)]);
  });
  std::printf("%-16s update %6.0f us, tick %6.0f us, one row %5.2f us, question %5.2f us (%g)\n",
              name, update_us, tick_us, one_us / 1'000, ask_us, sum);
}
