// SPDX-License-Identifier: Apache-2.0
// Copies segments and snapshots: see journal_copy.hpp.
#include "starling/apps/journal/journal_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "starling/apps/journal/log_check.hpp"
#include "starling/knn/base/descriptor.hpp"
#include "starling/log/identity.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/system_files.hpp"
#include "starling/stream/journal/record_codec.hpp"

namespace starling::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

/// Waits until the folder's entries are on the disk, so that a new name survives a power failure.
void sync(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open() || ::fsync(opened.number()) != 0)
    refuse("the copy is made, but the folder " + folder.string() +
           " cannot be written to the disk: " + std::generic_category().message(errno));
}

/// A folder with the name FOLDER.unfinished. finish() renames it to FOLDER; without finish(), the
/// destructor removes it with its content.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(const fs::path& folder)
      : folder_(folder), path_(folder.string() + ".unfinished") {
    if (fs::exists(path_))
      refuse("there is a folder " + path_.string() +
             ", which another copy makes now or left unfinished; remove it if none is being made");
    files_ = log::open_folder(path_.string(), log::FolderUse::write);
  }
  ~UnfinishedFolder() {
    if (!files_) return;
    files_.reset();
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  log::Files& files() { return *files_; }
  const fs::path& path() const { return path_; }
  void finish() {
    files_->sync_folder();
    fs::remove(path_ / "lock");
    fs::rename(path_, folder_);
    files_.reset();
    sync(folder_.parent_path());
  }

 private:
  fs::path folder_;
  fs::path path_;
  std::unique_ptr<log::Files> files_;
};

/// Returns `to` as an absolute path without a slash at its end. Refuses a folder inside `from`, and
/// a folder that is not empty.
fs::path checked_target(const std::string& from, const std::string& to) {
  const fs::path source = fs::weakly_canonical(fs::absolute(from));
  fs::path target = fs::weakly_canonical(fs::absolute(to));
  if (target.filename().empty()) target = target.parent_path();
  const auto [in_source, rest] =
      std::mismatch(source.begin(), source.end(), target.begin(), target.end());
  if (in_source == source.end())
    refuse("the folder " + to + " lies in the log's own folder " + from +
           "; name one that lies elsewhere");
  if (!fs::exists(target)) return target;
  if (!fs::is_directory(target))
    refuse(to + " is a file; name a folder that is empty or not there");
  if (!fs::is_empty(target))
    refuse("the folder " + to + " is not empty; name one that is empty or not there");
  return target;
}

void copy_file(log::Files& from, log::Files& to, const std::string& name, std::uint64_t bytes) {
  const auto source = from.open(name);
  const auto copy = to.create(name, bytes);
  std::vector<std::byte> piece(std::min(bytes, piece_bytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), bytes - done));
    if (source->read(done, part) != part.size()) refuse(name + " has become shorter meanwhile");
    copy->write(done, part);
    done += part.size();
  }
  copy->sync();
}

}  // namespace

CopiedLog copy_log(const std::string& from, const std::string& to, CopyPurpose purpose) {
  const auto source = log::open_folder(from, log::FolderUse::read);
  const fs::path target = checked_target(from, to);
  CopiedLog copied;
  const log::LogCheck check = check_all(*source, [&](const log::Group& group) {
    copied.records += group.records.size();
    for (const log::Record& record : group.records)
      if (record.type == stream::record_type::tick_begun)
        copied.last_tick = std::get<stream::TickBegunRecord>(stream::decode(record));
  });
  if (!check.damage.empty()) throw check.damage.front();
  if (!check.read.end) refuse("the folder " + from + " holds no log");
  UnfinishedFolder made(target);
  for (const std::string& name : source->list()) {
    // A server may still append to the last file. Only the part that was checked is copied.
    const bool is_last = name == check.read.end->file;
    const std::uint64_t bytes = is_last ? check.read.end->offset : source->open(name)->bytes();
    copy_file(*source, made.files(), name, bytes);
    ++copied.files;
    copied.bytes += bytes;
  }
  if (purpose == CopyPurpose::restore) log::mark_as_copy(made.files());
  const auto copy = log::open_folder(made.path().string(), log::FolderUse::read);
  const log::LogCheck check_of_copy = check_all(*copy);
  if (!check_of_copy.damage.empty()) throw check_of_copy.damage.front();
  if (check_of_copy.read.records != copied.records)
    refuse("the copy in " + made.path().string() + " lacks records of the log; try another disk");
  made.finish();
  return copied;
}

}  // namespace starling::apps
