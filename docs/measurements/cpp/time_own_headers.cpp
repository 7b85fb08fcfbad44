// SPDX-License-Identifier: Apache-2.0
// Times time_work.hpp by the headers of starling::starling.
#include <future>

#include <starling/cpu/backend.hpp>
#include <starling/knn/tables/lock_step.hpp>
#include <starling/knn/tables/processor.hpp>

#include "time_work.hpp"

namespace {

class Work {
 public:
  void put(const Coordinates& places) {
    processor_.put_stream({.name = "near", .on = starling::ReportOn::distance});
    std::vector<starling::QueryDefinition> rows(queries);
    for (std::size_t i = 0; i < queries; ++i) {
      rows[i].id = starling::QueryId{i};
      rows[i].k = k;
      processor_.lattice().to_lattice({places[2 * i], places[2 * i + 1]}, rows[i].anchor.position);
    }
    std::vector<starling::QueryStatus> statuses(queries);
    processor_.put_queries(*processor_.queries().find_stream("near"), rows, statuses);
  }
  void update(const Coordinates& places, std::int64_t time_us) {
    for (std::size_t i = 0; i < objects; ++i)
      rows_[i] = {.id = starling::ObjectId{i}, .time_us = time_us};
    processor_.to_lattice(places, 2, rows_, errors_);
    processor_.update(rows_, time_us, statuses_);
  }
  void update_one(std::uint64_t id, double x, double y) {
    starling::ObjectUpdate row{.id = starling::ObjectId{id}, .time_us = rounds};
    processor_.lattice().to_lattice({x, y}, row.position);
    starling::UpdateStatus status{};
    processor_.update({&row, 1}, rounds, {&status, 1});
  }
  double tick(std::int64_t tau_us) {
    const starling::TickReport report = ticks_.advance(tau_us);
    double sum = 0;
    for (const auto& list : report.streams.front().queries)
      for (const auto& neighbor : list.neighbors) sum += processor_.to_distance(neighbor.key);
    return sum;
  }
  double ask(double x, double y) {
    starling::OneShotQuery question;
    question.k = k;
    processor_.lattice().to_lattice({x, y}, question.position);
    std::promise<starling::Answers> promise;
    processor_.engine().search_finished(
        {question}, [&](starling::Answers answers) { promise.set_value(std::move(answers)); });
    const starling::Answers answers = promise.get_future().get();
    double sum = 0;
    for (const auto& neighbor : answers.neighbors) sum += processor_.to_distance(neighbor.key);
    return sum;
  }

 private:
  starling::Processor processor_{{}, starling::cpu::make_engine({.threads = 1})};
  starling::LockStep ticks_{processor_};
  std::vector<starling::ObjectUpdate> rows_ = std::vector<starling::ObjectUpdate>(objects);
  std::vector<starling::PositionError> errors_ = std::vector<starling::PositionError>(objects);
  std::vector<starling::UpdateStatus> statuses_ = std::vector<starling::UpdateStatus>(objects);
};

}  // namespace

int main() {
  Work work;
  time_work("its own headers", work);
}
