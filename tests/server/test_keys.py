"""Virtual keys: their API, their limits, what they are charged."""

import json
import os
import sqlite3
import threading
import time
import unittest

from harness import DONE, KEY, answer, begin_stream, chat, completion, end_stream, event, send_chunk, wait_until
from test_api import ApiCase, TIME, UUID

NOBODY = "aaaaaaaa-0000-4000-8000-00000000000f"
PRICES = {"input_price_per_million": 1000, "output_price_per_million": 1000}


def using(prompt, output, cached=0, reasoning=0, before=None):
    """A provider whose answers state what they used."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }

    def script(conn, seen, number):
        if before:
            before(number)
        return answer(conn, 200, dict(completion(), usage=usage))

    return script


def talkative(words, then=None):
    """Streams so many words and keeps the usage to itself until the end."""

    def script(conn, seen, number):
        begin_stream(conn)
        for _ in range(words):
            send_chunk(conn, event("abcd"))
        if then:
            then(seen)
        send_chunk(conn, event(finish="stop") + DONE)
        return end_stream(conn)

    return script


class KeyCase(ApiCase):
    def make(self, **spec):
        spec.setdefault("name", "app")
        return self.ok("POST", "/api/virtual-keys", spec, 201)

    def row(self, key):
        return self.ok("GET", "/api/virtual-keys/" + key["id"])

    def put(self, key, **spec):
        return self.ok("PUT", "/api/virtual-keys/" + key["id"], spec)

    def ask(self, key, model="hotel/demo", path="/v1/chat/completions", **more):
        body = dict({"model": model, "messages": [{"role": "user", "content": "hi"}]}, **more)
        secret = key if isinstance(key, str) else key["key"]
        return self.gate.request("POST", path, json.dumps(body).encode(), {"Authorization": "Bearer " + secret})

    def settings(self, **values):
        self.ok("PUT", "/api/settings", values)

    def price(self, **prices):
        for model in self.ok("GET", "/api/models"):
            self.ok("PATCH", "/api/models/" + model["id"], prices or PRICES)

    def restart(self):
        data_dir = self.gate.data_dir
        with open(self.gate.config, encoding="utf-8") as file:
            text = file.read()
        self.gate.stop()
        return self.start(text, data_dir=data_dir)


class Api(KeyCase):
    def test_make_show_change_delete(self):
        self.start_group(chat())
        key = self.make(name="  app  ")
        self.assertRegex(key["key"], r"^sk-[0-9a-f]{32}$")
        self.assertRegex(key["id"], UUID)
        self.assertRegex(key["created_at"], TIME)
        self.assertEqual(key["key_preview"], "sk-..." + key["key"][-4:])
        shown = self.row(key)
        self.assertNotIn("key", shown)
        self.assertEqual({k: v for k, v in key.items() if k != "key"}, shown)
        for name in ("rate_limit_rps", "rate_limit_burst", "rate_limit_tpm", "allowed_providers", "budget_usd",
                     "budget_period", "budget_remaining_usd", "budget_resets_at", "last_used_at"):
            self.assertIsNone(shown[name], name)
        self.assertEqual((shown["name"], shown["enabled"], shown["read_only"]), ("app", True, False))
        self.assertEqual(self.ask(key).status, 200)

        changed = self.put(key, name="web", rate_limit_rps=0, rate_limit_burst=5, rate_limit_tpm=1000000,
                           allowed_providers=["p1"], budget_usd=12.5)
        provider = self.ok("GET", "/api/providers")[0]["id"]
        self.assertEqual((changed["name"], changed["rate_limit_rps"], changed["rate_limit_burst"],
                          changed["rate_limit_tpm"]), ("web", 0, 5, 1000000))
        self.assertEqual(changed["allowed_providers"], [provider])
        self.assertEqual((changed["budget_usd"], changed["budget_period"]), (12.5, "month"))
        self.assertEqual(changed["budget_remaining_usd"], 12.5)
        self.assertRegex(changed["budget_resets_at"], TIME)
        self.assertEqual(self.put(key, budget_period="week")["budget_period"], "week")
        none = self.put(key, rate_limit_rps=None, allowed_providers=None, budget_usd=None)
        self.assertEqual((none["rate_limit_rps"], none["allowed_providers"], none["budget_usd"]), (None,) * 3)
        self.assertEqual(none["rate_limit_burst"], 5)  # what is not given stays

        self.put(key, enabled=False)
        self.assertEqual(self.ask(key).status, 401)
        self.put(key, enabled=True)
        self.assertEqual(self.ask(key).status, 200)
        self.assertIsNone(self.ok("DELETE", "/api/virtual-keys/" + key["id"], code=204))
        self.assertEqual(self.ask(key).status, 401)
        self.refused(404, "virtual key not found", "GET", "/api/virtual-keys/" + key["id"])
        self.refused(404, "virtual key not found", "DELETE", "/api/virtual-keys/" + NOBODY)

    def test_what_cannot_be_made(self):
        self.start_group(chat())
        self.make(name="taken")
        path = "/api/virtual-keys"
        for body, text in (
            ({"name": ""}, "name must have 1 to 100 characters"),
            ({"name": "x" * 101}, "name must have 1 to 100 characters"),
            ({"name": "é" * 101}, "name must have 1 to 100 characters"),
            ({"name": "Admin"}, "the name 'Admin' is reserved; choose another"),
            ({"name": "a", "rate_limit_rps": -1}, "rate_limit_rps is 0 to 10000, or null for the global limit"),
            ({"name": "a", "rate_limit_burst": 0}, "rate_limit_burst is 1 to 10000, or null for the global limit"),
            ({"name": "a", "rate_limit_tpm": 0}, "rate_limit_tpm is 1 to 100000000, or null for the global limit"),
            ({"name": "a", "rate_limit_tpm": 1 << 63}, "rate_limit_tpm is out of range"),
            ({"name": "a", "allowed_providers": []},
             "allowed_providers names 1 to 1000 providers, or is null for all of them"),
            ({"name": "a", "allowed_providers": ["nobody"]},
             "allowed_providers: no provider has the id or name 'nobody'"),
            ({"name": "a", "budget_usd": -1}, "budget_usd is 0 to 10000000, or null for none"),
            ({"name": "a", "budget_usd": 10000001}, "budget_usd is 0 to 10000000, or null for none"),
            ({"name": "a", "budget_usd": 1, "budget_period": "year"}, "budget_period is day, week or month"),
            ({"name": "a", "budget_period": "day"}, "budget_period needs budget_usd beside it"),
        ):
            self.refused(400, text, "POST", path, body)
        self.assertEqual(self.make(name="é" * 100)["name"], "é" * 100)
        self.refused(409, "a virtual key named 'taken' already exists", "POST", path, {"name": "taken"})
        self.assertEqual([key["name"] for key in self.ok("GET", path)], ["dev", "taken", "é" * 100])

    def test_keys_of_the_file_are_read_only_and_keep_what_they_used(self):
        self.start_group(using(30, 12, cached=10, reasoning=2))
        file_key = self.ok("GET", "/api/virtual-keys")[0]
        self.assertEqual((file_key["name"], file_key["read_only"]), ("dev", True))
        text = "virtual key 'dev' is defined in %s; change it there" % self.gate.config
        self.refused(409, text, "PUT", "/api/virtual-keys/" + file_key["id"], {"name": "x"})
        self.refused(409, text, "DELETE", "/api/virtual-keys/" + file_key["id"])
        self.assertEqual(self.ask(KEY).status, 200)
        own = self.make()
        self.assertEqual(self.ask(own).status, 200)
        self.restart()
        for key in (file_key, own):
            row = self.row(key)
            used = [row[n] for n in ("requests", "tokens_used", "tokens_prompt", "tokens_completion",
                                     "tokens_prompt_cache_hit", "tokens_completion_reasoning")]
            self.assertEqual(used, [1, 42, 30, 12, 10, 2])
            self.assertRegex(row["last_used_at"], TIME)
        self.assertEqual(self.ask(own).status, 200)
        # Taken out of the file, a key opens nothing any more.
        data_dir = self.gate.data_dir
        with open(self.gate.config, encoding="utf-8") as file:
            text = file.read()
        self.gate.stop()
        self.start(text[: text.index("virtual_keys:")], data_dir=data_dir)
        self.assertEqual(self.ask(KEY).status, 401)
        self.assertEqual(self.ask(own).status, 200)
        gone = self.row(file_key)
        self.assertEqual((gone["enabled"], gone["read_only"], gone["tokens_used"]), (False, False, 42))

    def test_a_key_of_the_file_that_cannot_be_taken_stops_the_start_with_its_line(self):
        gate = self.start_group(chat())
        own = self.make()
        with open(gate.config, encoding="utf-8") as file:
            text = file.read()
        gate.stop()
        line = text[: text.index("virtual_keys:")].count("\n") + 1
        for keys, at, problem in (
            ("virtual_keys:\n  - {name: other, key: %s}\n" % own["key"], 1,
             "virtual_keys[0]: virtual key 'other': the same key is stored as 'app'; delete one of them"),
            ("virtual_keys:\n  - {name: x, key: key-x}\n  - {name: app, key: %s}\n" % KEY, 2,
             "virtual_keys[1]: a virtual key named 'app' already exists"),
            ("virtual_keys:\n  - {name: x, key: key-x, allowed_providers: [nobody]}\n", 1,
             'virtual_keys[0]: "x" allows the provider "nobody", which is not known'.replace('"', '\\"')),
        ):
            stopped = self.hoteld(text[: text.index("virtual_keys:")] + keys, data_dir=gate.data_dir, wait=False)
            self.assertNotEqual(stopped.wait(), 0)
            self.assertIn("%s:%d: %s" % (stopped.config, line + at, problem), stopped.stderr())

    def test_F177_every_wrong_key_gets_the_same_answer(self):
        self.start_group(chat())
        key = self.make()
        bodies = set()
        for secret in ("", "sk-", "x", key["key"][:-1], key["key"] + "0", key["key_preview"]):
            refused = self.ask(secret)
            self.assertEqual(refused.status, 401)
            bodies.add(refused.body)
        self.assertEqual(len(bodies), 1)

    def test_F173_a_key_is_in_no_file_and_no_output(self):
        self.start_group(using(10, 10))
        self.price()
        key = self.make(budget_usd=0.01, budget_period="day", rate_limit_rps=1, rate_limit_burst=2)
        self.settings(rate_limit_max_wait_ms=0)
        codes = [self.ask(key).status for _ in range(5)]
        self.assertIn(429, codes)

        def refused():
            codes.append(self.ask(key, model="nothing/here").status)
            return codes[-1] == 429

        wait_until(refused, "a refusal of a name that leads nowhere")
        self.put(key, rate_limit_rps=0)
        self.assertEqual(self.ask(key).error["code"], "budget_exceeded")
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == len(codes) + 1, "the rows are written")
        self.gate.stop()
        names = [os.path.join(self.gate.data_dir, name) for name in os.listdir(self.gate.data_dir)]
        for name in names + [self.gate.stderr_path]:
            with open(name, "rb") as file:
                self.assertNotIn(key["key"].encode(), file.read(), name)
        self.assertNotIn(key["key"].encode(), self.gate.stdout)


class Secrets(KeyCase):
    def test_a_key_for_a_model_is_in_no_row(self):
        self.start_group(chat())
        provider = self.add_provider("open", self.upstreams[0].url, autodiscovery_enabled=False)["name"]
        secret = "sk-0123456789abcdef0123"
        asked = [secret, "hotel/" + secret, "p1/" + secret, provider + "/" + secret, "hotel/demo"]
        for model in asked:
            self.ask(KEY, model=model)
        self.ask(KEY, model=provider + "/" + secret, stream=True)
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == len(asked) + 1, "the rows are written")
        rows = self.ok("GET", "/api/logs")["entries"]
        self.assertEqual(sorted(row["model_id"] for row in rows), sorted([
            "[REDACTED]", "hotel/[REDACTED]", "p1/[REDACTED]", "open/[REDACTED]", "open/[REDACTED]", "hotel/demo"]))
        self.assertNotIn(secret, json.dumps(rows))
        self.gate.stop()
        names = [os.path.join(self.gate.data_dir, name) for name in os.listdir(self.gate.data_dir)]
        for name in names + [self.gate.stderr_path]:
            with open(name, "rb") as file:
                self.assertNotIn(secret.encode(), file.read(), name)


class Limits(KeyCase):
    def within_a_second(self, prepare, ask):
        """What `ask` returned in the first turn in which it was over before a token came back."""
        for _ in range(20):
            prepare()
            begun = time.monotonic()
            result = ask()
            if time.monotonic() - begun < 0.95:
                return result
        return self.fail("this machine takes a second for a few requests")

    def test_requests_a_second(self):
        self.start_group(chat())
        self.settings(rate_limit_max_wait_ms=0)
        keys = []

        def fresh():
            keys.append(self.make(name="app%d" % len(keys), rate_limit_rps=1, rate_limit_burst=3))

        def five():
            # The last one in another dialect.
            return [self.ask(keys[-1]) for _ in range(4)] + [self.ask(keys[-1], path="/v1/messages", max_tokens=1)]

        *answers, said = self.within_a_second(fresh, five)
        self.assertEqual([a.status for a in answers], [200, 200, 200, 429])
        refused = answers[-1]
        self.assertEqual((refused.error["message"], refused.error["type"], refused.error["code"]),
                         ("rate limit exceeded", "rate_limit_error", "rate_limit_exceeded"))
        names = ("retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-burst", "x-ratelimit-scope")
        self.assertEqual([refused.headers[n] for n in names], ["1", "1", "0", "3", "key"])
        # In the client's dialect, and one key's limit is no other's.
        self.assertEqual((said.json()["type"], said.error["type"]), ("error", "rate_limit_error"))
        self.assertEqual(self.ask(KEY).status, 200)
        # A row like any other.
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == 5 * len(keys) + 1, "the rows are written")
        row = next(r for r in self.ok("GET", "/api/logs")["entries"] if r["status_code"] == 429)
        name = keys[-1]["name"]
        self.assertEqual((row["error_kind"], row["virtual_key_name"], row["model_id"]), ("rate_limit", name, "hotel/demo"))
        # Switched off and on again.
        self.settings(rate_limit_enabled=False)
        self.assertEqual([self.ask(keys[-1]).status for _ in range(5)], [200] * 5)

    def test_a_request_waits_for_its_turn_and_no_longer_than_it_may(self):
        self.start_group(chat())
        self.settings(rate_limit_rps=5, rate_limit_burst=1, rate_limit_max_wait_ms=1000)
        key = self.make()
        self.assertEqual(self.ask(key).status, 200)
        start = time.monotonic()
        codes = []

        def one():
            codes.append(self.ask(key).status)

        threads = [threading.Thread(target=one) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - start
        # Five a second find a turn within a second; the others hear at once that they do not.
        self.assertGreaterEqual(codes.count(200), 4)
        self.assertLessEqual(codes.count(200), 6 + 5 * took)
        self.assertEqual(codes.count(200) + codes.count(429), 12)
        self.assertGreaterEqual(took, 0.7)
        # Who leaves the queue gives its turn back and holds nobody up.
        with self.gate.client() as client:
            client.send_request("POST", "/v1/chat/completions", b'{"model":"hotel/demo","messages":[]}',
                                {"Authorization": "Bearer " + key["key"]})
        wait_until(lambda: self.ask(key).status == 200, "its turn comes")

    def test_by_address_before_the_key_is_looked_at(self):
        def fresh():
            self.start_group(chat())
            self.settings(rate_limit_ip_rps=1, rate_limit_ip_burst=2)

        *wrong, refused = self.within_a_second(fresh, lambda: [self.ask(key) for key in ("wrong", "wrong", KEY)])
        self.assertEqual([a.status for a in wrong], [401, 401])
        self.assertEqual((refused.status, refused.error["code"]), (429, "rate_limit_exceeded"))
        self.assertEqual(refused.headers["x-ratelimit-scope"], "ip")
        self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
        self.assertEqual(self.gate.request("GET", "/health").status, 200)
        page = self.call("GET", "/metrics").body.decode()
        self.assertIn('hotel_callers_refused_total{reason="key"} 2', page)
        self.assertIn('hotel_callers_refused_total{reason="address"} 1', page)
        self.settings(rate_limit_ip_enabled=False)
        self.assertEqual(self.ask(KEY).status, 200)
        # Refused before it was known who asks: no row.
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == 1, "the row is written")

    def test_tokens_a_minute(self):
        self.start_group(using(600, 400))
        key = self.make(rate_limit_tpm=1200)
        # It may overdraw: what a request takes is known at its end.
        self.assertEqual([self.ask(key).status for _ in range(3)], [200, 200, 429])
        refused = self.ask(key)
        self.assertEqual((refused.error["message"], refused.error["code"]),
                         ("token rate limit exceeded", "token_rate_limit_exceeded"))
        # 800 tokens too many, at 20 a second.
        self.assertIn(int(refused.headers["retry-after"]), range(30, 42))
        self.assertEqual((refused.headers["x-ratelimit-limit"], refused.headers["x-ratelimit-remaining"]), ("1200", "0"))
        self.assertEqual(self.row(key)["tokens_used"], 2000)

    def test_F193_changing_a_cap_keeps_what_was_taken(self):
        self.start_group(using(1, 1))
        self.settings(rate_limit_max_wait_ms=0)
        key = self.make(rate_limit_rps=1, rate_limit_burst=1)
        start = time.monotonic()
        admitted = 0
        for turn in range(20):
            admitted += self.ask(key).status == 200
            self.put(key, rate_limit_burst=1 + turn % 2)
        # Two at once, and one for every second it took.
        self.assertLessEqual(admitted, 3 + (time.monotonic() - start))
        tokens = self.make(name="tokens", rate_limit_tpm=1)
        admitted = 0
        for turn in range(20):
            admitted += self.ask(tokens).status == 200
            self.put(tokens, rate_limit_tpm=1 + turn % 2)
        self.assertLessEqual(admitted, 2)

    def test_budget(self):
        self.start_group(using(500, 500, cached=100))
        self.price(input_price_per_million=2, output_price_per_million=10, input_price_per_million_cache_hit=1)
        key = self.make(budget_usd=0.01, budget_period="day")
        # 400 at 2, 100 at 1 and 500 at 10 dollars a million: 0.0059 each.
        self.assertEqual([self.ask(key).status for _ in range(3)], [200, 200, 429])
        refused = self.ask(key)
        self.assertEqual((refused.error["type"], refused.error["code"]), ("insufficient_quota", "budget_exceeded"))
        left = 86400 - time.time() % 86400
        self.assertAlmostEqual(int(refused.headers["retry-after"]) % 86400, left % 86400, delta=5)
        row = self.row(key)
        self.assertAlmostEqual(row["cost_usd"], 0.0118)
        self.assertAlmostEqual(row["budget_used_usd"], 0.0118)
        self.assertEqual(row["budget_remaining_usd"], 0)
        self.assertTrue(row["budget_resets_at"].endswith("T00:00:00.000Z"))
        # It survives a restart and the end of the log's rows, and another period forgets nothing.
        self.ok("DELETE", "/api/logs/purge", {"older_than": "all"}, code=204)
        self.restart()
        self.assertEqual(self.ask(key).status, 429)
        self.assertAlmostEqual(self.put(key, budget_period="month")["budget_used_usd"], 0.0118)
        self.assertEqual(self.ask(key).status, 429)
        self.put(key, budget_usd=0.02)
        self.assertEqual(self.ask(key).status, 200)
        self.put(key, budget_usd=0)
        self.assertEqual(self.ask(key).status, 429)

    def together(self, key, count, **body):
        """The statuses of requests that are sent at once."""
        codes = []
        threads = [threading.Thread(target=lambda: codes.append(self.ask(key, **body).status)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return codes

    def test_budget_is_not_overspent_by_requests_that_come_together(self):
        self.start_group(using(500, 500, before=lambda number: time.sleep(0.05)))
        self.price()  # a dollar each
        key = self.make(budget_usd=5, budget_period="month")
        self.assertEqual(self.ask(key).status, 200)
        codes = self.together(key, 32, max_tokens=500)
        self.assertEqual(sorted(codes), [200] * 4 + [429] * 28)
        self.assertAlmostEqual(self.row(key)["budget_used_usd"], 5)

    def test_a_budget_reckons_with_the_length_that_a_request_asks_for(self):
        self.start_group(using(1, 500, before=lambda number: time.sleep(0.05)))
        self.price()  # half a dollar and a little each
        key = self.make(budget_usd=5, budget_period="month")
        codes = self.together(key, 48, max_tokens=500)
        self.assertEqual(set(codes), {200, 429})
        used = self.row(key)["budget_used_usd"]
        self.assertAlmostEqual(used, 0.501 * codes.count(200))
        self.assertLess(used, 5 + 0.51)
        # Alone it gets in, whatever it may cost; and the rest is spent.
        while self.ask(key, max_tokens=1000000).status == 200:
            pass
        self.assertGreaterEqual(self.row(key)["budget_used_usd"], 5)
        self.assertLess(self.row(key)["budget_used_usd"], 5 + 0.51)

    def test_a_budget_keeps_out_of_the_passthrough(self):
        self.start_group(chat())
        self.price()
        key = self.make(budget_usd=5)
        refused = self.ask(key, path="/p/p1/chat/completions")
        self.assertEqual((refused.status, refused.error["code"]), (403, "budget_needs_price"))
        self.assertEqual(self.upstreams[0].seen, [])
        self.put(key, budget_usd=None, budget_period=None)
        self.assertEqual(self.ask(key, path="/p/p1/chat/completions").status, 200)

    def test_facts_i_the_list_of_models_is_what_the_key_may_call(self):
        self.start_group(chat("one"), chat("two"))
        key = self.make(allowed_providers=["p2"])

        def models(key):
            secret = key if isinstance(key, str) else key["key"]
            return self.gate.request("GET", "/v1/models", headers={"Authorization": "Bearer " + secret})

        everything = {"p1/model-p1", "p2/model-p2", "hotel/demo"}
        self.assertEqual({m["id"] for m in models(KEY).json()["data"]}, everything)
        listed = models(key).json()["data"]
        self.assertEqual([(m["id"], m["provider"]) for m in listed], [("p2/model-p2", "p2"), ("hotel/demo", "p2")])
        self.put(key, allowed_providers=[self.add_provider("third")["id"]])
        self.assertEqual(models(key).json()["data"], [])
        self.put(key, allowed_providers=None)
        self.assertEqual({m["id"] for m in models(key).json()["data"]}, everything)

        # It counts in the requests a second, also when the budget is spent.
        fresh = iter(range(100))

        def limited():
            return self.make(name="limited%d" % next(fresh), rate_limit_rps=1, rate_limit_burst=2, budget_usd=0)

        def three():
            key = limited()
            return [models(key) for _ in range(3)]

        answers = self.within_a_second(lambda: None, three)
        self.assertEqual([a.status for a in answers], [200, 200, 429])
        self.assertEqual(answers[2].error["code"], "rate_limit_exceeded")
        self.assertEqual(answers[2].headers["x-ratelimit-scope"], "key")
        self.assertEqual(models("sk-unknown").status, 401)

    def test_allowed_providers(self):
        self.start_group(chat("one"), chat("two"))
        key = self.make(allowed_providers=["p2"])
        served = self.ask(key)
        self.assertEqual((served.status, served.headers["x-hotel-provider"]), (200, "p2"))
        self.assertEqual(self.ask(key, model="p2/model-p2").status, 200)
        for answered in (self.ask(key, model="p1/model-p1"), self.ask(key, path="/p/p1/v1/chat/completions")):
            self.assertEqual((answered.status, answered.error["code"], answered.error["type"]),
                             (403, "provider_not_allowed", "permission_error"))
        self.assertEqual(self.ask(KEY, model="p1/model-p1").status, 200)
        self.assertEqual(len(self.upstreams[0].seen), 1)
        # Nobody in the group is left.
        self.ok("POST", "/api/failover-groups", {"display_model": "first", "entry_ids": [
            m["id"] for m in self.ok("GET", "/api/models")]}, code=201)
        self.put(key, allowed_providers=[self.add_provider("third")["id"]])
        self.assertEqual(self.ask(key).status, 403)
        self.assertEqual(self.ask(key, path="/v1/messages", max_tokens=1).json()["error"]["type"], "permission_error")


class Charges(KeyCase):
    def test_F191_who_leaves_before_the_usage_comes_is_charged(self):
        gone = lambda seen: time.sleep(0.3)
        self.start_group(talkative(40, gone))
        key = self.make()
        before = 0
        for turn in range(5):
            with self.gate.client() as client:
                body = {"model": "hotel/demo", "stream": True, "messages": [{"role": "user", "content": "x" * 400}]}
                client.send_request("POST", "/v1/chat/completions", json.dumps(body).encode(),
                                    {"Authorization": "Bearer " + key["key"]})
                client.read_head()
                text = b""
                while text.count(b"abcd") < 40:
                    text += client.read_chunk()
            wait_until(lambda: self.row(key)["requests"] == turn + 1, "it is charged")
            after = self.row(key)["tokens_used"]
            # A hundred in, forty out.
            self.assertGreater(after - before, 100)
            self.assertLess(after - before, 300)
            before = after

    def test_F191_who_leaves_before_the_answer_begins_is_charged_for_the_prompt(self):
        release = threading.Event()
        self.addCleanup(release.set)
        self.start_group(using(1, 1, before=lambda number: release.wait(20)))
        key = self.make()
        for turn in range(4):
            body = {"model": "hotel/demo", "stream": turn % 2 == 1, "messages": [{"role": "user", "content": "x" * 400}]}
            with self.gate.client() as client:
                client.send_request("POST", "/v1/chat/completions", json.dumps(body).encode(),
                                    {"Authorization": "Bearer " + key["key"]})
                wait_until(lambda: len(self.upstreams[0].seen) == turn + 1, "it is at the provider")
            wait_until(lambda: self.row(key)["requests"] == turn + 1, "it is over")
            self.assertGreater(self.row(key)["tokens_used"], 100 * (turn + 1))
            self.assertLess(self.row(key)["tokens_used"], 200 * (turn + 1))

    def test_F185_streams_that_were_left_hold_nothing(self):
        self.start_group(talkative(3, lambda seen: time.sleep(0.05)))
        self.price()
        key = self.make(budget_usd=1000, rate_limit_tpm=100000000, rate_limit_rps=10000, rate_limit_burst=10000)
        body = json.dumps({"model": "hotel/demo", "stream": True, "messages": []}).encode()
        for turn in range(60):
            with self.gate.client() as client:
                client.send_request("POST", "/v1/chat/completions", body, {"Authorization": "Bearer " + key["key"]})
                if turn % 3:
                    client.read_head()
                if turn % 3 == 2:
                    client.read_chunk()
        wait_until(lambda: self.row(key)["requests"] == 60, "all of them are over")
        spent = self.row(key)["budget_used_usd"]
        self.put(key, budget_usd=spent + 0.01, rate_limit_rps=None)
        # Were anything still set aside, there would be no room for this one.
        self.assertEqual(self.ask(key, stream=True).status, 200)

    def test_a_locked_database_holds_up_no_request_and_loses_no_charge(self):
        self.start_group(using(2, 3))
        key = self.make()
        other = sqlite3.connect(os.path.join(self.gate.data_dir, "hotel.db"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        self.assertEqual([self.ask(key).status for _ in range(20)], [200] * 20)
        self.assertEqual(self.row(key)["tokens_used"], 100)
        other.execute("ROLLBACK")
        self.restart()
        self.assertEqual(self.row(key)["tokens_used"], 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
