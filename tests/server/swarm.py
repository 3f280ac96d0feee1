"""Thousands of raw client connections on one thread, each following a plan of its own."""

import errno
import heapq
import selectors
import socket
import struct
import time

FIN = "fin"  # closes the sending side and reads on
RESET = "reset"  # dies with a reset
CLOSE = "close"  # closes everything


class Plan:
    """What one connection does: sends `pieces` with `gap` seconds between them, then `then`.

    `stop(plan)` is asked after every read whether enough has come; the connection also ends when
    the server closes it or `limit` seconds have passed.
    """

    def __init__(self, pieces, gap=0.0, then=None, stop=None, limit=120.0, tag=None, keep_bytes=1 << 16):
        self.pieces = [pieces] if isinstance(pieces, bytes) else list(pieces)
        self.gap = gap
        self.then = then
        self.stop = stop
        self.limit = limit
        self.tag = tag
        self.keep_bytes = keep_bytes
        self.received = bytearray()  # the first `keep_bytes` of it
        self.total = 0
        self.ended = None  # "closed", "reset", "left", "stopped" or "late"
        self.connected_at = None
        self.first_at = None
        self.ended_at = None
        self.sock = None
        self.next = 0
        self.sent_all = False

    @property
    def status(self):
        """The status of the first answer; None when nothing came."""
        if not self.received.startswith(b"HTTP/1.1 "):
            return None
        return int(self.received[9:12])


class Swarm:
    """Runs plans, at most `width` at a time."""

    def __init__(self, address, width=128, receive_buffer=None):
        self.address = address
        self.width = width
        self.receive_buffer = receive_buffer
        self.selector = selectors.DefaultSelector()
        self.timers = []
        self.running = set()
        self.count = 0

    def run(self, plans, deadline=None):
        plans = list(plans)
        for plan in self.each(iter(plans), deadline):
            pass
        return plans

    def each(self, plans, deadline=None):
        """Yields each plan when it has ended."""
        more = True
        self.finished = []
        end = None if deadline is None else time.monotonic() + deadline
        while more or self.running:
            while more and len(self.running) < self.width:
                plan = next(plans, None)
                if plan is None:
                    more = False
                else:
                    self._start(plan)
            self._turn()
            if end is not None and time.monotonic() > end:
                for plan in list(self.running):
                    self._end(plan, "late")
            done, self.finished = self.finished, []
            yield from done

    def _start(self, plan):
        plan.sock = socket.socket(socket.AF_INET)
        plan.sock.setblocking(False)
        plan.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.receive_buffer:
            plan.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        code = plan.sock.connect_ex(self.address)
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, "connect")
        self.running.add(plan)
        self.selector.register(plan.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, plan)
        self._at(time.monotonic() + plan.limit, self._late, plan)

    def _at(self, when, action, plan):
        self.count += 1
        heapq.heappush(self.timers, (when, self.count, action, plan))

    def _late(self, plan):
        self._end(plan, "late")

    def _turn(self):
        now = time.monotonic()
        wait = 0.05 if not self.timers else max(0.0, min(0.05, self.timers[0][0] - now))
        for key, mask in self.selector.select(wait):
            plan = key.data
            if plan.ended is None and mask & selectors.EVENT_WRITE:
                self._write(plan)
            if plan.ended is None and mask & selectors.EVENT_READ:
                self._read(plan)
        now = time.monotonic()
        while self.timers and self.timers[0][0] <= now:
            _, _, action, plan = heapq.heappop(self.timers)
            if plan.ended is None:
                action(plan)

    def _listen(self, plan, write):
        self.selector.modify(plan.sock, selectors.EVENT_READ | (selectors.EVENT_WRITE if write else 0), plan)

    def _write(self, plan):
        try:
            if plan.connected_at is None:
                plan.connected_at = time.monotonic()
            while plan.next < len(plan.pieces):
                piece = plan.pieces[plan.next]
                sent = plan.sock.send(piece)
                if sent < len(piece):
                    plan.pieces[plan.next] = piece[sent:]
                    return
                plan.next += 1
                if plan.gap and plan.next < len(plan.pieces):
                    self._listen(plan, False)
                    self._at(time.monotonic() + plan.gap, lambda p: self._listen(p, True), plan)
                    return
            self._listen(plan, False)
            plan.sent_all = True
            if plan.then == FIN:
                plan.sock.shutdown(socket.SHUT_WR)
            elif plan.then == RESET:
                plan.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self._end(plan, "left")
            elif plan.then == CLOSE:
                self._end(plan, "left")
        except BlockingIOError:
            pass
        except OSError:
            # The server has closed already; what it said is still to be read.
            self._listen(plan, False)

    def _read(self, plan):
        try:
            data = plan.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            return self._end(plan, "reset")
        if not data:
            return self._end(plan, "closed")
        if plan.first_at is None:
            plan.first_at = time.monotonic()
        plan.total += len(data)
        if len(plan.received) < plan.keep_bytes:
            plan.received += data[: plan.keep_bytes - len(plan.received)]
        if plan.stop is not None and plan.stop(plan):
            self._end(plan, "stopped")

    def _end(self, plan, how):
        plan.ended = how
        plan.ended_at = time.monotonic()
        self.running.discard(plan)
        self.selector.unregister(plan.sock)
        plan.sock.close()
        plan.sock = None
        self.finished.append(plan)
