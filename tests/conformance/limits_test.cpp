// SPDX-License-Identifier: Apache-2.0
// Tests distance limits through a Processor on every engine. A limit equal to a reported distance
// keeps its neighbour, and the float64 below it loses the neighbour.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "starling/knn/tables/lock_step.hpp"
#include "starling/knn/tables/processor.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/conformance/shapes.hpp"
#include "tests/support/limit_pairs.hpp"
#include "tests/support/words.hpp"

namespace starling::test {
namespace {

constexpr std::uint32_t list_length = 10;

ProcessorOptions options_in(const SpaceOptions& space) {
  ProcessorOptions options;
  options.space = space;
  return options;
}

/// Objects in one space of one resolution, and questions about their nearest.
class LimitedWorld {
 public:
  LimitedWorld(const EngineChoice& engine, const SpaceOptions& space, Shape shape, Random& random)
      : processor_(options_in(space), engine.make(space, 2)),
        clock_(processor_),
        points_(space.space, shape, random) {
    std::vector<ObjectUpdate> rows;
    for (std::uint64_t id = 0; id < 1000; ++id)
      rows.push_back(fix(ObjectId{id}, 0, points_.next()));
    std::vector<UpdateStatus> statuses(rows.size());
    EXPECT_EQ(processor_.update(rows, 0, statuses).accepted, rows.size());
    EXPECT_EQ(clock_.advance(0).error, "");
  }

  /// Asks for the neighbours of random places. Then asks again for each neighbour, with its
  /// distance and with the float64 below it as the limit. Returns the number of neighbours.
  std::uint64_t compare(std::size_t places) {
    std::vector<OneShotQuery> questions(places);
    for (OneShotQuery& question : questions) {
      question.k = list_length;
      question.position = points_.next();
    }
    const Answers reported = ask(processor_.engine(), questions);
    std::vector<OneShotQuery> limited;
    std::vector<std::vector<Neighbor>> expected;
    for (const Answers::List& list : reported.lists)
      for (const Neighbor& neighbor : neighbors_of(reported, list)) {
        const double distance_m = processor_.to_distance(neighbor.key);
        for (const double limit_m : {distance_m, std::nextafter(distance_m, 0)}) {
          limited.push_back(questions[list.query]);
          limited.back().filter.key_max = processor_.to_key_max(limit_m);
          expected.push_back(neighbors_of(reported, list));
          std::erase_if(expected.back(),
                        [&](const Neighbor& each) { return reported_m(each) > limit_m; });
        }
      }
    const Answers kept = ask(processor_.engine(), limited);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(neighbors_of(kept, kept.lists.at(i)), expected[i])
          << "d^2 up to " << to_number(limited[i].filter.key_max);
    return limited.size() / 2;
  }

 private:
  static std::vector<Neighbor> neighbors_of(const Answers& answers, const Answers::List& list) {
    const auto begin = answers.neighbors.begin() + static_cast<std::ptrdiff_t>(list.first);
    return {begin, begin + static_cast<std::ptrdiff_t>(list.count)};
  }

  /// Returns the distance that lists report for this neighbour: the root of its key, times the
  /// resolution. It does not use Processor::to_distance().
  double reported_m(const Neighbor& neighbor) const {
    return std::sqrt(static_cast<double>(to_number(neighbor.key))) *
           processor_.space().resolution_m;
  }

  Processor processor_;
  LockStep clock_;
  PointSource points_;
};

TEST_P(Conformance, ADistanceThatWasReportedIsALimitThatKeepsItsNeighbour) {
  constexpr std::size_t places = 100;
  std::uint64_t seed = 1;
  for (const Space space : {Space::planar2, Space::planar3, Space::wgs84})
    for (std::uint64_t pairs = 0; pairs < limit_pairs(20'000);)
      for (const double resolution_m : {0.01, 0.006, 0.3, 7.0, 1.0 / 3})
        for (const Shape shape : shapes_of(space)) {
          SCOPED_TRACE(std::string(to_string(space)) + ", " + std::string(to_string(shape)) +
                       ", resolution " + std::to_string(resolution_m) + ", seed " +
                       std::to_string(seed));
          Random random(seed++);
          SpaceOptions options;
          options.space = space;
          options.resolution_m = resolution_m;
          LimitedWorld world(engine(), options, shape, random);
          pairs += world.compare(places);
          if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace starling::test
