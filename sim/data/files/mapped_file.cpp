// SPDX-License-Identifier: Apache-2.0
// Opens the file, refuses all but regular files, maps it and closes the descriptor: see
// mapped_file.hpp.
#include "starling/sim/data/files/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "starling/knn/base/descriptor.hpp"
#include "starling/sim/data/files/errors.hpp"

namespace starling::sim {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  // With O_NONBLOCK, opening a pipe does not wait for a writer; the pipe is refused below.
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) throw InputError(path_ + ": cannot be opened: " + std::strerror(errno));
  struct stat status {};
  if (fstat(file.number(), &status) != 0)
    throw InputError(path_ + ": cannot be read: " + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw InputError(path_ + ": is a directory");
  if (!S_ISREG(status.st_mode))
    throw InputError(path_ +
                     ": is not a regular file; binary vectors and labels are read only "
                     "from regular files");
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (begin == MAP_FAILED) throw InputError(path_ + ": cannot be read: " + std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(begin), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace starling::sim
