// SPDX-License-Identifier: Apache-2.0
// Writes groups to a log in a folder and prints the rate and the times of commits.
//   log_throughput DIR [GROUP_MB=16] [GROUPS=60]
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <sys/resource.h>

#include "starling/knn/base/percentile.hpp"
#include "starling/log/recovery.hpp"
#include "starling/log/system_files.hpp"
#include "starling/log/writer.hpp"

namespace {

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int count, char** arguments) {
  using namespace starling;
  if (count < 2) {
    std::fprintf(stderr, "usage: log_throughput DIR [GROUP_MB] [GROUPS]\n");
    return 2;
  }
  const std::size_t group_bytes =
      (count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 16) * 1000000;
  const std::size_t groups = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 60;
  constexpr std::size_t payload_bytes = 256 * 1024;
  std::vector<std::byte> payload(payload_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i)
    payload[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  const auto files = log::open_folder(arguments[1], log::FolderUse::write);
  log::Writer writer(*files, log::NewLog{.id = {1}, .user = {}}, {});
  std::vector<double> commit_ms;
  const double cpu_before = cpu_s();
  const std::int64_t begin_us = steady_now_us();
  log::PendingGroup group(writer.next_sequence());
  for (std::size_t i = 0; i < groups; ++i) {
    group.restart(writer.next_sequence());
    while (group.bytes() < group_bytes) group.append(log::RecordType{1}, 0, payload);
    const std::int64_t commit_us = steady_now_us();
    writer.commit(group);
    commit_ms.push_back(ms_since(commit_us));
  }
  const double seconds = ms_since(begin_us) / 1e3;
  const double megabytes = static_cast<double>(group_bytes * groups) / 1e6;
  std::printf("%.0f MB in %.2f s: %.0f MB/s, commit p50 %.1f ms, p99 %.1f ms, %.2f CPU s\n",
              megabytes, seconds, megabytes / seconds, percentile(commit_ms, 0.5),
              percentile(commit_ms, 0.99), cpu_s() - cpu_before);
  const std::int64_t read_us = steady_now_us();
  const auto summary = log::read_log(*files, [](const log::Group&) {});
  std::printf("%.0f MB read and checked in %.2f s, from the page cache\n",
              static_cast<double>(summary.bytes) / 1e6, ms_since(read_us) / 1e3);
}
