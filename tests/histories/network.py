# SPDX-License-Identifier: Apache-2.0
"""The network between clients and server: a TCP proxy that delays, holds, loses and cuts, and the loopback
link of a network namespace.
"""

import asyncio
import fcntl
import socket
import struct
import threading

FORWARD, HOLD, LOSE_REPLIES = "forward", "hold", "lose_replies"


class Proxy:
    """Forwards each of its ports to the server's port of the same role. Runs in a thread of its own.
    `mode` is what happens to bytes. After LOSE_REPLIES only a cut mends the connections."""

    def __init__(self, roles):
        self.mode = FORWARD
        self.targets = {role: None for role in roles}
        self.ports = {}
        self.pairs = set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,), daemon=True)
        self.thread.start()
        started.wait()

    def run(self, started):
        asyncio.set_event_loop(self.loop)

        async def listen():
            for role in self.targets:
                server = await asyncio.start_server(
                    lambda reader, writer, role=role: self.serve(role, reader, writer), "127.0.0.1", 0)
                self.ports[role] = server.sockets[0].getsockname()[1]
            started.set()

        self.loop.run_until_complete(listen())
        self.loop.run_forever()

    async def serve(self, role, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.targets[role])
        except (OSError, TypeError):
            writer.transport.abort()
            return
        pair = (writer, far_writer)
        self.pairs.add(pair)
        await asyncio.gather(self.forward(reader, far_writer, False), self.forward(far_reader, writer, True))
        self.pairs.discard(pair)
        for each in pair:
            each.transport.abort()

    async def forward(self, reader, writer, is_reply):
        """Copies bytes until one side closes; then closes the other side."""
        try:
            while data := await reader.read(65536):
                while self.mode == HOLD:
                    await asyncio.sleep(0.002)
                if is_reply and self.mode == LOSE_REPLIES:
                    continue
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    def cut(self):
        """Closes all connections. Bytes that are under way are lost."""

        def abort():
            for pair in list(self.pairs):
                for each in pair:
                    each.transport.abort()

        self.loop.call_soon_threadsafe(abort)


def set_loopback(up):
    """Switches the loopback link of this network namespace on or off. While it is off, packets are lost."""
    SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))
