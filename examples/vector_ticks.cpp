// SPDX-License-Identifier: Apache-2.0
// Songs are vectors that change when listeners tag them, and some songs have a genre and a rating.
// The three songs nearest to a new song by cosine distance vote on its genre, and their mean is its
// rating. When one of them gets another genre or rating, the new vote and mean are reported,
// although the list is the same. Exits with 0 if the answers are the expected ones.
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <starling/cpu/backend.hpp>
#include <starling/knn/tables/lock_step.hpp>
#include <starling/knn/tables/processor.hpp>

namespace {

constexpr starling::Label no_genre = starling::no_label;
constexpr starling::Label jazz = 1;
constexpr starling::Label rock = 2;
constexpr double no_rating = starling::no_value;

starling::SpaceOptions songs() {
  starling::SpaceOptions space;
  space.space = starling::Space::vector;
  space.dimension = 3;
  space.metric = starling::Metric::cosine;
  return space;
}

class Genres {
 public:
  Genres() : processor_({.space = songs(), .objects = {}, .queries = {}}, make_engine()) {
    processor_.put_stream({.name = "genres", .on = starling::ReportOn::membership});
    starling::QueryDefinition query{.id = starling::QueryId{1}, .k = 3};
    query.components = prepared({1, 1, 0});
    query.vote = true;
    query.regress = starling::RegressionWeights::uniform;
    starling::QueryStatus status{};
    processor_.put_queries(*processor_.queries().find_stream("genres"), {&query, 1}, {&status, 1});
    if (status != starling::QueryStatus::accepted)
      throw std::runtime_error("the query is refused: " + std::string(to_string(status)));
  }

  void put(std::uint64_t song, std::vector<float> tags, starling::Label genre, double rating) {
    const std::vector<float> components = prepared(std::move(tags));
    const starling::VectorUpdate row{.id = starling::ObjectId{song},
                                     .time_us = ++now_us_,
                                     .label = genre,
                                     .value = rating,
                                     .has_label = true,
                                     .has_value = true};
    starling::UpdateStatus status{};
    processor_.update_vectors({&row, 1}, {components, songs().dimension}, now_us_, {&status, 1});
    if (status != starling::UpdateStatus::accepted)
      throw std::runtime_error("the song is refused: " + std::string(to_string(status)));
  }

  /// Runs a tick and returns what it reported, as text.
  std::string tick() {
    const starling::TickReport report = ticks_.advance(++now_us_);
    if (!report.error.empty()) throw std::runtime_error("the tick failed: " + report.error);
    std::string text;
    for (const starling::QueryReport& list : report.streams.front().queries) {
      for (const starling::Neighbor& neighbor : list.neighbors)
        text += std::to_string(to_number(neighbor.object)) + " at " +
                std::to_string(processor_.to_distance(neighbor.key)) + ", ";
      text += "genre " + std::to_string(list.vote.value()) + ", rating " +
              std::to_string(list.mean.value()) + "\n";
    }
    return text;
  }

 private:
  static std::unique_ptr<starling::Engine> make_engine() {
    return starling::cpu::make_engine({.space = songs()});
  }

  // Prepares a row once, on arrival. If the metric does not allow a component, throws an error with
  // the number of the component.
  static std::vector<float> prepared(std::vector<float> raw) {
    std::optional<starling::VectorFault> fault;
    prepare_each(songs().metric, {raw, songs().dimension}, raw, {&fault, 1});
    if (fault) throw std::runtime_error(sentence_of(*fault));
    return raw;
  }

  starling::Processor processor_;
  starling::LockStep ticks_{processor_};
  std::int64_t now_us_ = 0;
};

constexpr const char* expected =
    "11 at 0.000000, 13 at 0.051317, 12 at 0.292893, genre 2, rating 4.000000\n"
    "11 at 0.000000, 13 at 0.051317, 12 at 0.292893, genre 1, rating 3.500000\n";

bool run() {
  Genres genres;
  genres.put(11, {2, 2, 0}, no_genre, no_rating);
  genres.put(12, {0, 3, 0}, jazz, 3);
  genres.put(13, {2, 1, 0}, rock, 5);
  genres.put(14, {0, 0, 1}, jazz, 1);
  std::string text = genres.tick();
  text += genres.tick();  // nothing has changed, so nothing is reported
  genres.put(11, {2, 2, 0}, jazz, 2.5);
  text += genres.tick();
  std::cout << text;
  return text == expected;
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "vector_ticks: " << error.what() << '\n';
    return 1;
  }
}
