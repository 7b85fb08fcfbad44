// SPDX-License-Identifier: Apache-2.0
// Measures how long a server takes to start from its log: from a snapshot with many objects, and
// many rows after it. Not a test: it writes gigabytes.
//   recovery_time DIR [OBJECTS=10000000] [ROWS=60000000] [QUERIES=1000]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "starling/knn/base/clocks.hpp"
#include "tests/stream/support/program.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

/// Sends rows of random objects that move on a square of 100 km.
class Rows {
 public:
  Rows(const std::string& commands, std::uint64_t objects)
      : client_(context_, {.commands = commands, .name = "recovery_time", .timeout_ms = 60'000}),
        objects_(objects) {}

  void put_queries(std::uint64_t count) {
    client_.put_stream({.name = "s"}).value();
    for (std::uint64_t id = 0; id < count; ++id)
      client_.put_queries({.stream = "s", .queries = {{nearest_to(id, 10, place(), place())}}})
          .value();
  }

  /// Sends one row for each object, or `count` rows of random objects.
  void send(std::uint64_t count, bool is_each) {
    constexpr std::uint64_t rows_at_once = 25'000;
    const std::int64_t now_us = wall_now_us();
    for (std::uint64_t done = 0; done < count; done += rows_at_once) {
      ids_.clear();
      coordinates_.clear();
      for (std::uint64_t row = done; row < std::min(done + rows_at_once, count); ++row) {
        ids_.push_back(is_each ? row : random_.below(objects_));
        coordinates_.push_back(place());
        coordinates_.push_back(place());
      }
      times_us_.assign(ids_.size(), now_us);
      const protocol::UpdateBatch batch{
          .ids = ids_, .times_us = times_us_, .coordinates = coordinates_};
      if (const auto problem = client_.post(batch)) throw std::runtime_error(problem->sentence);
    }
    client_.flush();
  }

 private:
  double place() { return static_cast<double>(random_.below(10'000'000)) / 100; }

  zmq::context_t context_;
  protocol::Client client_;
  std::uint64_t objects_;
  test::Random random_{1};
  std::vector<std::uint64_t> ids_;
  std::vector<std::int64_t> times_us_;
  std::vector<double> coordinates_;
};

std::vector<std::string> serve(const std::string& folder) {
  return {"serve",
          "--commands",
          "tcp://127.0.0.1:7491",
          "--results",
          "tcp://127.0.0.1:7492",
          "--http",
          "127.0.0.1:7493",
          "--journal",
          folder + "/log",
          "--journal-tail-bytes-max",
          "100000000000"};
}

/// Drops the log's files from the system's page cache. Returns their number of bytes.
std::uint64_t drop_page_cache(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/log")) {
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    bytes += entry.file_size();
  }
  return bytes;
}

void measure_start(const std::string& folder, const char* what) {
  const std::uint64_t bytes = drop_page_cache(folder);
  const std::int64_t since_us = steady_now_us();
  Program program(serve(folder));
  if (!program.says("ready:")) throw std::runtime_error(program.said());
  std::printf(
      "%s: started in %.2f s, from %.0f MB that were not in the page cache; %.0f MB "
      "resident\n%s",
      what, ms_since(since_us) / 1e3, static_cast<double>(bytes) / 1e6,
      static_cast<double>(program.resident_bytes()) / 1e6, program.said().c_str());
  program.send_signal(SIGKILL);
}

void run(const std::string& folder, std::uint64_t objects, std::uint64_t rows,
         std::uint64_t queries) {
  {
    Program program(serve(folder));
    if (!program.says("ready:")) throw std::runtime_error(program.said());
    Rows sender("tcp://127.0.0.1:7491", objects);
    sender.put_queries(queries);
    sender.send(objects, true);
    program.send_signal(SIGTERM);
    program.exit_status();
  }
  measure_start(folder, "without a snapshot");
  const std::int64_t compact_us = steady_now_us();
  {
    Program program({"journal", "compact", folder + "/log"});
    program.exit_status();
  }
  std::printf("compact: %.2f s\n", ms_since(compact_us) / 1e3);
  measure_start(folder, "with a snapshot alone");
  {
    Program program(serve(folder));
    if (!program.says("ready:")) throw std::runtime_error(program.said());
    Rows sender("tcp://127.0.0.1:7491", objects);
    const std::int64_t since_us = steady_now_us();
    sender.send(rows, false);
    std::printf("%.1f M rows/s acknowledged\n",
                static_cast<double>(rows) / static_cast<double>(steady_now_us() - since_us));
    program.send_signal(SIGKILL);
  }
  measure_start(folder, "with a snapshot and the rows behind it");
}

}  // namespace
}  // namespace starling::stream

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: recovery_time DIR [OBJECTS] [ROWS] [QUERIES]\n");
    return 2;
  }
  const auto number = [&](int index, std::uint64_t otherwise) {
    return count > index ? std::strtoull(arguments[index], nullptr, 10) : otherwise;
  };
  starling::stream::run(arguments[1], number(2, 10'000'000), number(3, 60'000'000),
                        number(4, 1000));
  return 0;
}
