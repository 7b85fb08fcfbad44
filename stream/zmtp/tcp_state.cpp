// SPDX-License-Identifier: Apache-2.0
// TCP_INFO and SIOCOUTQ of Linux: see tcp_state.hpp.
#include "starling/stream/zmtp/tcp_state.hpp"

#include <cstddef>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace starling::stream::zmtp {

namespace {

// The kernel probes a silent peer after 15 s, and gives it up after three probes, 5 s apart.
constexpr int idle_s = 15;
constexpr int interval_s = 5;
constexpr int probes = 3;
// The kernel probes a closed window at growing intervals. A single unanswered probe may be a lost
// packet.
constexpr unsigned window_probes_lost = 4;

void set(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof(value));  // fails for local sockets
}

}  // namespace

void set_tcp_options(int descriptor) {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

bool is_peer_gone(int descriptor, std::int64_t period_us) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  const bool is_silent = std::int64_t{info.tcpi_last_ack_recv} * 1000 > period_us;
  return is_silent && (info.tcpi_unacked > 0 || info.tcpi_probes >= window_probes_lost);
}

bool is_reset(int descriptor) {
  pollfd poll{descriptor, 0, 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & POLLERR) != 0;
}

// Returns 0 for a local socket: its peer can still read all sent bytes after this end has closed.
int unacknowledged_bytes(int descriptor) {
  int bytes = 0;
  int domain = 0;
  socklen_t size = sizeof(domain);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
    return 0;
  return ::ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace starling::stream::zmtp
