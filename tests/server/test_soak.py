"""A thousand streams at once, frame by frame."""

import json
import time
import unittest

from harness import DONE, LONG, SANITIZED, TestCase, config
from malformed import AUTH
from swarm import Plan, Swarm


class Soak(TestCase):
    STREAMS = 1000
    FRAMES = 20
    ROUNDS = 20 if LONG else 2

    def test_every_frame_of_a_thousand_streams_arrives(self):
        sim = self.sim()
        model = "frames-%d+gap-50ms" % self.FRAMES
        hoteld = self.hoteld(config({"p1": sim}, {"demo": ["p1/" + model]}))
        body = json.dumps({"model": "hotel/demo", "messages": [], "stream": True}).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n" + AUTH
        data = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        base = hoteld.rss()
        peak = 0
        streams = 0
        cpu = hoteld.cpu_seconds()
        began = time.monotonic()
        for _ in range(self.ROUNDS):
            plans = [
                Plan(data, stop=lambda plan: plan.received.endswith(b"0\r\n\r\n"), limit=600) for _ in range(self.STREAMS)
            ]
            for count, plan in enumerate(Swarm(hoteld.address, width=self.STREAMS).each(iter(plans))):
                self.assertEqual((plan.status, plan.ended), (200, "stopped"))
                text = plan.received.partition(b"\r\n\r\n")[2]
                self.assertEqual(text.count(b'"content":"') - text.count(b'"content":""'), self.FRAMES)
                self.assertEqual(text.count(DONE), 1)
                self.assertNotIn(b'"error"', text)
                streams += 1
                if count == 0:
                    peak = max(peak, hoteld.rss())  # the first one ends: all of them are open
        stats = sim.stats()
        cpu = hoteld.cpu_seconds() - cpu
        print("\n%d streams in %.1f s, at most %d at the provider at once; %.1f KiB of rss and %.0f us of CPU each"
              % (streams, time.monotonic() - began, stats["max_open_connections"], (peak - base) / 1024 / self.STREAMS,
                 cpu * 1e6 / streams))
        self.assertEqual(stats["streams_cut_by_client"], 0)
        self.assertNotIn(" charge ", hoteld.stderr())
        if not SANITIZED:
            self.assertGreater(peak - base, 0)
            self.assertLess((peak - base) / self.STREAMS, 64 * 1024)


if __name__ == "__main__":
    unittest.main()
