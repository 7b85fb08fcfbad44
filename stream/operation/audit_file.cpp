// SPDX-License-Identifier: Apache-2.0
// Gives the lines to a DroppingLog: see audit_file.hpp.
#include "starling/stream/operation/audit_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starling/stream/operation/dropping_log.hpp"

namespace starling::stream {

namespace {

int opened(const std::string& path) {
  if (path == "-") return STDERR_FILENO;
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
  if (descriptor < 0)
    throw std::runtime_error("the audit log " + path +
                             " cannot be written: " + std::strerror(errno));
  struct stat status {};
  const bool is_file = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    ::close(descriptor);
    throw std::runtime_error("the audit log " + path +
                             " can be written by others than its owner, who could change it; run "
                             "chmod go-w on it");
  }
  return descriptor;
}

std::string report_of(std::uint64_t lines) {
  return "{\"event\":\"lines_missing\",\"lines\":" + std::to_string(lines) + "}";
}

}  // namespace

struct AuditFile::State {
  explicit State(const std::string& path)
      : descriptor(opened(path)),
        sink(std::make_shared<DroppingLog>(
            DroppingLogOptions{.descriptor = descriptor, .report_of = report_of})),
        logger("audit", sink) {
    logger.set_pattern("%v");
    logger.set_level(spdlog::level::info);
    logger.set_error_handler([](const std::string&) {});
  }

  int descriptor;
  std::shared_ptr<DroppingLog> sink;
  spdlog::logger logger;
};

AuditFile::AuditFile(const std::string& path) : state_(std::make_unique<State>(path)) {}

// The descriptor stays open if the thread still writes to it.
AuditFile::~AuditFile() {
  const bool is_done = state_->sink->close(std::chrono::seconds(1));
  if (is_done && state_->descriptor != STDERR_FILENO) ::close(state_->descriptor);
}

void AuditFile::write(const std::string& line) {
  state_->logger.info(spdlog::string_view_t(line.data(), line.size()));
}

std::uint64_t AuditFile::dropped() const {
  return state_->sink->dropped();
}

}  // namespace starling::stream
