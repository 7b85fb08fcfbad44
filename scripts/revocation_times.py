# SPDX-License-Identifier: Apache-2.0
"""Measures how long a server takes from SIGHUP until it cuts the connections of a key that has left its
keys file. Each trial revokes another key. Called by scripts/bench-curve. The clients are sockets of libzmq,
called through ctypes. The monitor of a socket reports when its connection ends."""

import ctypes
import struct
import time
import tomllib

PAIR, SUB, DEALER = 0, 2, 5
LINGER, SUBSCRIBE, RCVTIMEO = 17, 6, 27
CURVE_PUBLICKEY, CURVE_SECRETKEY, CURVE_SERVERKEY = 48, 49, 50
DISCONNECTED, HANDSHAKE_SUCCEEDED = 0x0200, 0x1000
RECONNECT_IVL = 18
PATIENCE_MS = 10_000

zmq = ctypes.CDLL("libzmq.so.5")
zmq.zmq_ctx_new.restype = zmq.zmq_socket.restype = ctypes.c_void_p
zmq.zmq_socket.argtypes = [ctypes.c_void_p, ctypes.c_int]
zmq.zmq_setsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
zmq.zmq_connect.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
zmq.zmq_socket_monitor.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
zmq.zmq_recv.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
zmq.zmq_ctx_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]


def check(result):
    if result is None or result < 0:
        raise OSError(zmq.zmq_errno(), "libzmq refuses a call")
    return result


def set_number(socket, option, value):
    number = ctypes.c_int(value)
    check(zmq.zmq_setsockopt(socket, option, ctypes.byref(number), ctypes.sizeof(number)))


def set_text(socket, option, text):
    check(zmq.zmq_setsockopt(socket, option, text.encode(), len(text)))


class Connection:
    """A connection with a key, and the monitor of its socket. The socket does not reconnect."""

    def __init__(self, context, kind, endpoint, key):
        self.socket = check(zmq.zmq_socket(context, kind))
        set_number(self.socket, LINGER, 0)
        set_number(self.socket, RECONNECT_IVL, -1)
        set_text(self.socket, CURVE_SERVERKEY, key["server"])
        set_text(self.socket, CURVE_PUBLICKEY, key["public"])
        set_text(self.socket, CURVE_SECRETKEY, key["secret"])
        if kind == SUB:
            set_text(self.socket, SUBSCRIBE, "stream\0")
        address = f"inproc://monitor-{self.socket}".encode()
        check(zmq.zmq_socket_monitor(self.socket, address, DISCONNECTED | HANDSHAKE_SUCCEEDED))
        self.events = check(zmq.zmq_socket(context, PAIR))
        check(zmq.zmq_connect(self.events, address))
        check(zmq.zmq_connect(self.socket, endpoint.encode()))
        self.expect(HANDSHAKE_SUCCEEDED, PATIENCE_MS)

    def next_event(self, timeout_ms):
        """Returns the next event, or None if none comes within `timeout_ms`."""
        set_number(self.events, RCVTIMEO, timeout_ms)
        frame = ctypes.create_string_buffer(256)
        if zmq.zmq_recv(self.events, frame, len(frame), 0) < 0:
            return None
        check(zmq.zmq_recv(self.events, ctypes.create_string_buffer(256), 256, 0))
        return struct.unpack_from("<H", frame.raw)[0]

    def expect(self, event, timeout_ms):
        found = self.next_event(timeout_ms)
        if found != event:
            raise RuntimeError(f"libzmq tells {found} instead of {event} within {timeout_ms} ms")


def revocation_times_ms(server, trials):
    """Returns two lists with the milliseconds of each trial: for the commands and the results endpoint.
    Raises RuntimeError if the server cuts a connection whose key is still in the file."""
    names = [f"client{number}" for number in range(trials + 1)]
    lines = [server.add_client(name, "subscribe", "stats") for name in names]
    endpoints = server.start(lines)
    context = check(zmq.zmq_ctx_new())
    pairs = []
    for name in names:
        key = tomllib.loads((server.folder / f"{name}.key").read_text())
        pairs.append([Connection(context, DEALER, endpoints["commands"], key),
                      Connection(context, SUB, endpoints["results"], key)])
    times_ms = ([], [])
    for trial in range(trials):
        server.write_keys(lines[trial + 1:])
        time.sleep(0.05)  # waits until the messages about the last trial's cuts have come
        begin = time.monotonic()
        server.reload()
        # This thread reads the monitors one after the other, so the second time is never less than the first.
        for connection, times in zip(pairs[trial], times_ms):
            connection.expect(DISCONNECTED, PATIENCE_MS)
            times.append(1e3 * (time.monotonic() - begin))
    for connection in pairs[-1]:
        if connection.next_event(100) is not None:
            raise RuntimeError("the server has cut a connection whose key is in the file")
    return times_ms
