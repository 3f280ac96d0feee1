"""The client's address behind a reverse proxy: server.trusted_proxies."""

import json
import unittest

from harness import chat, wait_until
from test_api import ApiCase, TOKEN

ASK = json.dumps({"model": "hotel/demo", "messages": []}).encode()
LIMIT = "settings: {rate_limit_ip_rps: 1, rate_limit_ip_burst: 1}"


class Proxies(ApiCase):
    def ask(self, forwarded=None):
        fields = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        answer = self.gate.request("POST", "/v1/chat/completions", ASK, fields)
        return answer.status

    def addresses(self, count):
        rows = []

        def written():
            rows[:] = self.ok("GET", "/api/logs")["entries"]
            return len(rows) == count

        wait_until(written, "the rows are written")
        return [row["client_ip"] for row in reversed(rows)]

    def guess(self, forwarded):
        return self.gate.request("GET", "/api/logs", b"", {"Authorization": "Bearer wrong", "X-Forwarded-For": forwarded}).status

    def many(self, addresses):
        """The statuses of a request of each: more than one a second, so a limit on one address shows."""
        return {self.ask(address) for address in addresses}

    def test_nobody_is_believed_by_default(self):
        self.start_group(chat(), extra=LIMIT)
        self.assertEqual(self.many("203.0.113.%d" % n for n in range(20)), {200, 429})
        self.assertEqual({row["client_ip"] for row in self.ok("GET", "/api/logs")["entries"]} - {"127.0.0.1"}, set())
        self.assertEqual([self.guess("203.0.113.%d" % n) for n in range(11)], [401] * 10 + [429])

    def test_a_peer_that_is_not_on_the_list_is_not_believed(self):
        self.start_group(chat(), server="trusted_proxies: [10.0.0.0/8, '::1']")
        self.assertEqual(self.ask("203.0.113.1"), 200)
        self.assertEqual(self.addresses(1), ["127.0.0.1"])

    def test_behind_a_trusted_proxy_limits_are_those_of_the_client(self):
        self.start_group(chat(), server="trusted_proxies: [127.0.0.1]", extra=LIMIT)
        self.assertEqual(self.many("203.0.113.%d" % n for n in range(20)), {200})
        self.assertEqual(self.many(["198.51.100.1"] * 20), {200, 429})
        # What the client itself wrote in front of it changes nothing.
        self.assertEqual(self.many("203.0.113.%d, 198.51.100.2" % n for n in range(20)), {200, 429})
        self.assertEqual(self.many("[2001:db8::%x]:4711" % n for n in range(20)), {200, 429})  # one network of 64 bits
        self.assertEqual(self.many("nonsense %d" % n for n in range(20)), {200, 429})  # so it is the proxy's

    def test_the_log_has_the_address_of_the_client(self):
        self.start_group(chat(), server="trusted_proxies: [127.0.0.1]")
        for forwarded in ("203.0.113.1", "198.51.100.9, 203.0.113.2", "203.0.113.3:4711, 127.0.0.1", "2001:DB8::1", "nobody", None):
            self.assertEqual(self.ask(forwarded), 200)
        self.assertEqual(self.addresses(6), ["203.0.113.1", "203.0.113.2", "203.0.113.3", "2001:db8::1", "127.0.0.1", "127.0.0.1"])
        self.assertEqual(len(self.ok("GET", "/api/logs?client_ip=203.0.113.2")["entries"]), 1)

    def test_requests_on_one_connection_have_an_address_each(self):
        gate = self.start_group(chat(), server="trusted_proxies: [127.0.0.0/8]")
        with gate.client() as client:
            for address in ("203.0.113.1", "203.0.113.2", None):
                client.send_request("POST", "/v1/chat/completions", ASK, {"X-Forwarded-For": address})
                self.assertEqual(client.read_answer().status, 200)
        self.assertEqual(self.addresses(3), ["203.0.113.1", "203.0.113.2", "127.0.0.1"])

    def test_who_guesses_the_admin_token_is_held_up_alone(self):
        self.start_group(chat(), server="trusted_proxies: [127.0.0.1]")
        self.assertEqual([self.guess("203.0.113.1") for _ in range(11)], [401] * 10 + [429])
        self.assertEqual(self.guess("203.0.113.2"), 401)
        self.ok("GET", "/api/logs")  # the proxy itself

    def test_the_list_may_stand_in_the_environment(self):
        self.start_group(chat(), server="trusted_proxies: [10.0.0.0/8]", env={"ADMIN_TOKEN": TOKEN, "TRUSTED_PROXIES": "127.0.0.1, ::1"})
        self.assertEqual(self.ask("203.0.113.1"), 200)
        self.assertEqual(self.addresses(1), ["203.0.113.1"])

    def test_a_proxy_that_speaks_IPv6(self):
        self.start_group(chat(), server="trusted_proxies: ['::1']", args=("--listen", "[::1]:0"))
        self.assertEqual(self.ask("2001:DB8::7, ::1"), 200)
        self.assertEqual(self.addresses(1), ["2001:db8::7"])

    def test_the_field_does_not_reach_a_provider(self):
        self.start_group(chat(), server="trusted_proxies: [127.0.0.1]")
        self.assertEqual(self.ask("203.0.113.1"), 200)
        for upstream in self.upstreams:
            for seen in upstream.seen:
                self.assertIsNone(seen.header("X-Forwarded-For"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
