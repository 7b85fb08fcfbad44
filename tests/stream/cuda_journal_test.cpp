// SPDX-License-Identifier: Apache-2.0
// Tests a server with the CUDA engine and a log. It goes on after restarts, with a snapshot and
// without, and the CPU engine publishes the same bytes from its log.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "starling/gpu/backend.hpp"
#include "starling/log/system_files.hpp"
#include "starling/stream/recovery/log_run.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

std::unique_ptr<Engine> cpu_engine(const SpaceOptions& space) {
  return make_engine(space);
}

std::unique_ptr<Engine> cuda_engine(const SpaceOptions& space) {
  return gpu::make_engine({.space = space, .small = {.part_rows_min = 100}});
}

class CudaJournal : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_none;
    if (gpu::find_devices(why_none).empty()) GTEST_SKIP() << why_none;
    std::string path = std::filesystem::temp_directory_path() / "starling-cuda-log-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  /// Runs a server for some ticks, in which random objects move, and then asks it.
  protocol::HeldList run_server(int ticks) {
    ServerOptions options = manual_options();
    options.journal.folder = folder_;
    RunningServer server(options, cuda_engine({}));
    auto client = server.client();
    EXPECT_TRUE(client.put_stream({.name = "s", .on = ReportOn::distance}));
    for (std::uint64_t id = 0; id < 50; ++id)
      EXPECT_TRUE(
          client.put_queries({.stream = "s", .queries = {{nearest_to(id, 8, place(), place())}}}));
    for (int tick = 0; tick < ticks; ++tick) {
      Fixes fixes;
      for (int row = 0; row < 3000; ++row)
        fixes.add(random_.below(20'000), ++time_us_, place(), place());
      EXPECT_TRUE(client.update(fixes.batch()));
      EXPECT_TRUE(client.advance_tick(++time_us_));
    }
    return answer_of(server);
  }

  protocol::HeldList answer_of(RunningServer& server) {
    return server.client().get_neighbors({{nearest_to(0, 20, 500, 500)}}).value().lists.at(0);
  }

  LogRunCounts run_again(const EngineMaker& engine) const {
    const auto files = log::open_folder(folder_, log::FolderUse::read);
    return LogRun(*files, {.make_engine = engine}).run({}, [](const RanTick&) { return true; });
  }

  double place() { return static_cast<double>(random_.below(1000)); }

  std::string folder_;
  test::Random random_{3};
  std::int64_t time_us_ = 0;
};

TEST_F(CudaJournal, AServerGoesOnAndItsLogPublishesTheSameBytesOnBothEngines) {
  run_server(10);
  const protocol::HeldList before = run_server(10);
  {
    ServerOptions options = manual_options();
    options.journal.folder = folder_;
    RunningServer server(options, cuda_engine({}));
    EXPECT_EQ(answer_of(server), before);
  }
  for (const EngineMaker& engine : {EngineMaker(cpu_engine), EngineMaker(cuda_engine)}) {
    const LogRunCounts counts = run_again(engine);
    EXPECT_EQ(counts.different, 0u);
    EXPECT_GE(counts.equal, 18u);
  }
}

TEST_F(CudaJournal, AServerGoesOnFromASnapshot) {
  run_server(10);
  const auto files = [&] { return log::open_folder(folder_, log::FolderUse::write); };
  ASSERT_TRUE(make_snapshot({.files = *files(), .make_engine = cpu_engine}));
  const protocol::HeldList before = run_server(10);
  ASSERT_TRUE(make_snapshot({.files = *files(), .make_engine = cuda_engine}));
  {
    ServerOptions options = manual_options();
    options.journal.folder = folder_;
    RunningServer server(options, cuda_engine({}));
    EXPECT_EQ(answer_of(server), before);
  }
  run_server(5);
  const LogRunCounts counts = run_again(cpu_engine);
  EXPECT_EQ(counts.different, 0u);
  EXPECT_GE(counts.equal, 4u);
}

}  // namespace
}  // namespace starling::stream
