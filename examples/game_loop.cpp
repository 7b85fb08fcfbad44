// SPDX-License-Identifier: Apache-2.0
// A flock in a game with 60 frames a second. In each frame, every bird steers by its seven nearest
// neighbours. No frame waits for the engine. If a tick has finished, the frame takes the new lists;
// otherwise it uses the last ones. Exits with 0 if every bird has got its seven neighbours.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <starling/cpu/backend.hpp>
#include <starling/knn/tables/processor.hpp>

namespace {

constexpr std::uint64_t bird_count = 500;
constexpr std::uint32_t neighbor_count = 7;
constexpr int frame_count = 90;
constexpr int frame_count_max = 1800;  // if the lists take longer, the program fails
constexpr std::int64_t frame_us = 1'000'000 / 60;

struct Bird {
  double x_m = 0;
  double y_m = 0;
  double angle = 0;
  std::vector<starling::ObjectId> neighbors;  // nearest first, of the last finished tick
};

// The engine's thread puts a result in, and the game's thread takes it out. Neither thread waits
// for the other.
class Mailbox {
 public:
  void put(std::unique_ptr<starling::TickResult> result) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
  }
  std::unique_ptr<starling::TickResult> take() {
    const std::lock_guard lock(mutex_);
    return std::move(result_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<starling::TickResult> result_;
};

class Flock {
 public:
  Flock() {
    processor_.engine().set_result_handler(
        [mailbox = mailbox_](auto result) { mailbox->put(std::move(result)); });
    for (std::uint64_t id = 0; id < bird_count; ++id) {
      // Places the birds like a sunflower's seeds.
      const double turn = 2.4 * static_cast<double>(id);
      const double radius_m = std::sqrt(static_cast<double>(id));
      birds_.push_back({radius_m * std::cos(turn), radius_m * std::sin(turn), turn, {}});
    }
    // One standing query gives every bird its list. A bird is not in its own list.
    processor_.put_stream({.name = "flock", .on = starling::ReportOn::membership});
    const starling::QueryDefinition query{.id = starling::QueryId{1},
                                          .k = neighbor_count,
                                          .anchor = {.kind = starling::AnchorKind::every_object}};
    starling::QueryStatus status{};
    processor_.put_queries(*processor_.queries().find_stream("flock"), {&query, 1}, {&status, 1});
    if (status != starling::QueryStatus::accepted)
      throw std::runtime_error("the query is refused: " + std::string(to_string(status)));
  }

  void frame(std::int64_t now_us) {
    use_what_arrived();
    for (Bird& bird : birds_) steer(bird);
    if (processor_.tick_under_way()) return;
    stage(now_us);
    processor_.begin_tick(now_us);  // returns at once; the result comes to the mailbox
  }

  int ticks_used() const { return ticks_used_; }

  bool every_bird_has_its_neighbors() const {
    return std::ranges::all_of(
        birds_, [](const Bird& bird) { return bird.neighbors.size() == neighbor_count; });
  }

 private:
  void use_what_arrived() {
    auto result = mailbox_->take();
    if (!result) return;
    const starling::TickReport report = processor_.finish_tick(std::move(result));
    if (!report.error.empty()) std::cerr << "the old lists stand: " << report.error << '\n';
    for (const starling::QueryReport& list : report.streams.front().queries) {
      auto& neighbors = birds_[to_number(list.subject)].neighbors;
      neighbors.clear();
      for (const starling::Neighbor& neighbor : list.neighbors)
        neighbors.push_back(neighbor.object);
    }
    ++ticks_used_;
  }

  void steer(Bird& bird) {
    double x = std::cos(bird.angle);
    double y = std::sin(bird.angle);
    for (const starling::ObjectId id : bird.neighbors) {
      x += std::cos(birds_[to_number(id)].angle) / neighbor_count;
      y += std::sin(birds_[to_number(id)].angle) / neighbor_count;
    }
    bird.angle = std::atan2(y, x);
    bird.x_m += 0.1 * std::cos(bird.angle);
    bird.y_m += 0.1 * std::sin(bird.angle);
  }

  void stage(std::int64_t now_us) {
    rows_.clear();
    for (std::uint64_t id = 0; id < bird_count; ++id) {
      starling::ObjectUpdate row{.id = starling::ObjectId{id}, .time_us = now_us};
      const starling::Position position{birds_[id].x_m, birds_[id].y_m, 0};
      if (processor_.lattice().to_lattice(position, row.position) == starling::PositionError::none)
        rows_.push_back(row);  // otherwise the bird is off the lattice, 10,000 km away
    }
    statuses_.resize(rows_.size());
    processor_.update(rows_, now_us, statuses_);
  }

  // Declared before the processor, because the engine's thread writes to the mailbox until the
  // processor is destroyed.
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  starling::Processor processor_{starling::ProcessorOptions{},  // planar2, 1 cm
                                 starling::cpu::make_engine({.threads = 1})};
  std::vector<Bird> birds_;
  std::vector<starling::ObjectUpdate> rows_;
  std::vector<starling::UpdateStatus> statuses_;
  int ticks_used_ = 0;
};

bool run() {
  Flock flock;
  auto next_frame = std::chrono::steady_clock::now();
  for (int frame = 1; frame <= frame_count_max; ++frame) {
    if (frame > frame_count && flock.every_bird_has_its_neighbors()) break;
    flock.frame(frame * frame_us);
    next_frame += std::chrono::microseconds(frame_us);
    std::this_thread::sleep_until(next_frame);
  }
  std::cout << flock.ticks_used() << " ticks used\n";
  return flock.every_bird_has_its_neighbors();
}

}  // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "game_loop: " << error.what() << '\n';
    return 1;
  }
}
