"""Several event loops carry the providers: the same answers, and a clean stop."""

import json
import os
import signal
import unittest

from harness import DONE, TestCase, config, wait_until

SIMS = 12
ASK = {"messages": [], "stream": True}


def far_switches(hoteld):
    """How often each loop but the first was woken; the first carries clients."""
    found = []
    for task in sorted(os.listdir("/proc/%d/task" % hoteld.process.pid), key=int):
        directory = "/proc/%d/task/%s/" % (hoteld.process.pid, task)
        with open(directory + "comm", encoding="ascii") as file:
            if file.read().strip() != "hotel-loop":
                continue
        with open(directory + "status", encoding="ascii") as file:
            for line in file:
                if line.startswith("voluntary_ctxt_switches:"):
                    found.append(int(line.split()[1]))
    return found[1:]


class EventLoops(TestCase):
    def start(self, server="event_loops: 3"):
        self.sims = [self.sim() for _ in range(SIMS)]
        providers = {"p%d" % i: sim.url for i, sim in enumerate(self.sims)}
        return self.hoteld(config(providers, server=server))

    def test_whole_and_streamed_answers_come_over_every_loop(self):
        hoteld = self.start()
        wait_until(lambda: len(far_switches(hoteld)) == 2, "a name for every loop's thread")
        before = sum(far_switches(hoteld))
        for i in range(SIMS):
            for _ in range(5):
                whole = hoteld.chat({"model": "p%d/size-50000" % i, "messages": []})
                self.assertEqual(whole.status, 200)
                text = whole.json()["choices"][0]["message"]["content"]
                self.assertGreaterEqual(len(text), 50000)
                stream = hoteld.chat(dict(ASK, model="p%d/frames-20+size-2000+gap-1ms" % i))
                self.assertEqual(stream.status, 200)
                self.assertEqual(stream.body.count(b'"content":"') - stream.body.count(b'"content":""'), 20)
                self.assertTrue(stream.body.endswith(DONE))
            refused = hoteld.chat({"model": "p%d/status-400" % i, "messages": []})
            self.assertEqual(refused.status, 400)
        # The origins' hashes would all have to name the first loop: one case in half a million.
        self.assertGreater(sum(far_switches(hoteld)), before + 20)
        for sim in self.sims:
            # One for all eleven requests.
            self.assertEqual(sim.open_connections(), 1)

    def test_with_one_loop_there_is_one_thread(self):
        hoteld = self.start(server="")
        for i in range(SIMS):
            self.assertEqual(hoteld.chat({"model": "p%d/ok" % i, "messages": []}).status, 200)
        self.assertEqual(far_switches(hoteld), [])

    def test_a_client_that_leaves_closes_its_provider_on_every_loop(self):
        hoteld = self.start()
        for i, sim in enumerate(self.sims):
            with hoteld.client() as client:
                body = json.dumps(dict(ASK, model="p%d/frames-100000+gap-50ms" % i)).encode()
                client.send_request("POST", "/v1/chat/completions", body)
                self.assertEqual(client.read_head()[0], 200)
                client.read_chunk()
                self.assertEqual(sim.open_connections(), 1)
            wait_until(lambda: sim.open_connections() == 0, "the provider's connection closed")

    def test_it_stops_cleanly_with_streams_running(self):
        hoteld = self.start(server="event_loops: 3\ndrain_timeout: 200ms")
        clients = []
        for i in range(2 * SIMS):
            client = hoteld.client()
            self.addCleanup(client.sock.close)
            body = json.dumps(dict(ASK, model="p%d/frames-100000+gap-100ms" % (i % SIMS))).encode()
            client.send_request("POST", "/v1/chat/completions", body)
            self.assertEqual(client.read_head()[0], 200)
            client.read_chunk()
            clients.append(client)
        hoteld.signal(signal.SIGTERM)
        for client in clients:
            rest = client.read_to_end()
            self.assertEqual(rest.count(b'"error"'), 1)
            self.assertNotIn(DONE, rest)
        self.assertEqual(hoteld.wait(), 0)
        for sim in self.sims:
            wait_until(lambda: sim.open_connections() == 0, "the provider's connections closed")


if __name__ == "__main__":
    unittest.main()
