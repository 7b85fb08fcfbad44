// SPDX-License-Identifier: Apache-2.0
// A folder in memory that can lose power. Unsynced bytes survive in part, page by page and down to
// a byte. Its disk can also be full, and its writes and syncs can fail.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "starling/log/files.hpp"

namespace starling::log {

/// Pages are small, so that small groups have many pages.
constexpr std::uint64_t simulated_page_bytes = 64;

class SimulatedFiles final : public Files {
 public:
  struct Content {
    std::vector<std::byte> on_disk;
    std::vector<std::byte> cached;
    std::set<std::uint64_t> dirty_pages;
    std::uint64_t birth = 0;
  };

  std::vector<std::string> list() const override;
  std::unique_ptr<File> open(std::string_view name) override;
  std::unique_ptr<File> create(std::string_view name, std::uint64_t bytes) override;
  void rename(std::string_view from, std::string_view to) override;
  void remove(std::string_view name) override;
  std::string birth_of(std::string_view name) const override {
    return std::to_string(entries_.find(name)->second->birth);
  }
  void sync_folder() override;
  std::uint64_t free_bytes() const override { return space_; }

  /// Each dirty page is lost, kept, or torn at some byte; each unsynced entry of the folder is kept
  /// or not. Open files must be closed before.
  template <class Random>
  void cut_power(Random& random);

  std::vector<std::byte>& bytes_of(const std::string& name) { return entries_.at(name)->cached; }
  std::map<std::string, std::vector<std::byte>> all_bytes() const;
  /// From now on keeps the bytes of files that are removed.
  void keep_removed() { keeps_removed_ = true; }
  /// Returns a folder with only the segments, both the present and the removed ones.
  SimulatedFiles with_removed_segments() const;
  void put(const std::string& name, std::vector<std::byte> bytes);

  /// The contents of a folder.
  struct Image {
    /// Bytes and birth of each file.
    std::map<std::string, std::pair<std::vector<std::byte>, std::uint64_t>> files;
    std::map<std::string, std::vector<std::byte>> removed;
  };
  Image image() const;
  /// Replaces all files by an image. If `as_copies`, they are new files, as cp makes them.
  /// Otherwise the whole disk goes back in time. Open files must be closed before.
  void put_back(const Image& image, bool as_copies);

  void set_space(std::uint64_t bytes) { space_ = bytes; }
  /// Writes or syncs fail from this call on, counted from 1. 0 stands for never.
  void fail_write(std::uint64_t call) { failing_write_ = call; }
  void fail_sync(std::uint64_t call) { failing_sync_ = call; }
  /// The creation with this number fails once, because the disk is full.
  void fail_create(std::uint64_t call) { failing_create_ = call; }
  std::uint64_t creates() const { return creates_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t syncs() const { return syncs_; }
  /// Called when a sync of a file begins.
  std::function<void()> on_sync;
  /// Called when a read of a file ends.
  std::function<void()> on_read;

 private:
  friend class SimulatedFile;
  using Entries = std::map<std::string, std::shared_ptr<Content>, std::less<>>;
  void change(std::function<void(Entries&)> operation);

  Entries entries_;
  Entries entries_on_disk_;
  bool keeps_removed_ = false;
  std::map<std::string, std::vector<std::byte>> removed_;  ///< the bytes that the files had
  std::vector<std::function<void(Entries&)>> unsynced_;
  std::uint64_t space_ = UINT64_MAX;
  std::uint64_t failing_write_ = 0;
  std::uint64_t failing_sync_ = 0;
  std::uint64_t failing_create_ = 0;
  std::uint64_t births_ = 0;
  std::uint64_t creates_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t syncs_ = 0;
};

template <class Random>
void SimulatedFiles::cut_power(Random& random) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (const auto& operation : unsynced_)
    if (below(2) != 0) operation(entries_on_disk_);
  entries_ = entries_on_disk_;
  unsynced_.clear();
  for (auto& [name, content] : entries_) {
    for (const std::uint64_t page : content->dirty_pages) {
      const std::uint64_t begin = page * simulated_page_bytes;
      const std::uint64_t length =
          std::min<std::uint64_t>(simulated_page_bytes, content->cached.size() - begin);
      const std::uint64_t kept = below(3) == 0 ? below(length + 1) : (below(2) != 0 ? length : 0);
      for (std::uint64_t i = begin; i < begin + kept; ++i) content->on_disk[i] = content->cached[i];
    }
    content->dirty_pages.clear();
    content->cached = content->on_disk;
  }
  failing_write_ = failing_sync_ = 0;
}

}  // namespace starling::log
