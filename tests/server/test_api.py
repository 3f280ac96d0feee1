"""The admin API, one endpoint after the other: shapes, messages, statuses."""

import json
import os
import re
import sqlite3
import stat
import threading
import time
import unittest

from harness import KEY, TestCase, chat, config, status, wait_until

TOKEN = "admin-token-for-tests"
NOBODY = "aaaaaaaa-0000-4000-8000-00000000000f"
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
KEY_REQUIRED = 'api_key is required for the provider type openai; "" says that its API wants none'
UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
STRICT = "providers: {}\nvirtual_keys:\n  - {name: dev, key: %s}\n" % KEY  # no address is allowed beyond the usual ones
ASK = {"model": "hotel/demo", "messages": [{"role": "user", "content": "hi"}]}


class ApiCase(TestCase):
    """Tests of one sidecar, asked with the admin token."""

    def start(self, text=None, **options):
        """A sidecar whose providers come over the API."""
        if text is None:
            text = config({})
        options.setdefault("env", {})["ADMIN_TOKEN"] = TOKEN
        self.gate = self.hoteld(text, **options)
        return self.gate

    def start_group(self, *scripts, env=None, **options):
        """A sidecar with the group `hotel/demo` of its file."""
        self.gate, self.upstreams = self.group(*scripts, env={"ADMIN_TOKEN": TOKEN, **(env or {})}, **options)
        return self.gate

    def call(self, method, path, body=None, token=TOKEN, raw=None):
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        return self.gate.request(method, path, data, {"Authorization": "Bearer " + token if token else None})

    def ok(self, method, path, body=None, code=200):
        answer = self.call(method, path, body)
        self.assertEqual(answer.status, code, answer.body)
        if code == 204:
            self.assertEqual(answer.body, b"")
            return None
        self.assertEqual(answer.headers["content-type"], "application/json")
        return answer.json()

    def refused(self, code, message, method, path, body=None, raw=None):
        answer = self.call(method, path, body, raw=raw)
        self.assertEqual((answer.status, answer.body.decode()), (code, message))
        self.assertTrue(answer.headers["content-type"].startswith("text/plain"), answer.headers)

    def add_provider(self, name, url="https://%s.example/v1", **more):
        spec = {"name": name, "provider_type": "openai", "api_key": "sk-%s-secret-0001" % name}
        spec["base_url"] = url % name.replace(" ", "-") if "%s" in url else url
        spec.update(more)
        return self.ok("POST", "/api/providers", spec, 201)

    def add_models(self, *names):
        """One model `m` of a provider each; their UUIDs."""
        for name in names:
            self.add_provider(name, models=["z-ai/" + name])
        models = self.ok("GET", "/api/models")
        return [next(m["id"] for m in models if m["provider_name"] == name) for name in names]


class Access(ApiCase):
    def test_nothing_without_the_token(self):
        self.start()
        for token in (None, "", "wrong", TOKEN + "x", KEY):
            answer = self.call("GET", "/api/failover-groups", token=token)
            self.assertEqual((answer.status, answer.body), (401, b"invalid admin token"), token)
            self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        # Nor does it say what there is.
        self.assertEqual(self.call("GET", "/api/nothing", token="").status, 401)
        self.assertEqual(self.call("GET", "/api", token="").status, 401)
        self.refused(404, "there is nothing under this path", "GET", "/api/nothing")
        answer = self.gate.request("GET", "/api/models", headers={"Authorization": None, "x-api-key": TOKEN})
        self.assertEqual(answer.status, 200)
        # The admin token is no virtual key.
        answer = self.gate.request("GET", "/v1/models", headers={"Authorization": "Bearer " + TOKEN})
        self.assertEqual(answer.status, 401)

    def test_a_body_is_not_read_from_strangers(self):
        self.start()
        with self.gate.client() as client:
            client.send_request("POST", "/api/providers", headers={"Authorization": "Bearer no", "Content-Length": "60000"})
            self.assertEqual(client.read_answer().status, 401)

    def test_ten_wrong_tokens_close_the_door_for_a_minute(self):
        self.start()
        for _ in range(20):  # nothing at all is no guess
            self.assertEqual(self.call("GET", "/api/models", token=None).status, 401)
        for _ in range(9):
            self.assertEqual(self.call("GET", "/api/models", token="guess").status, 401)
        self.assertEqual(self.call("GET", "/api/models").status, 200)
        self.assertEqual(self.call("GET", "/api/models", token="guess").status, 401)
        answer = self.call("GET", "/api/models")
        self.assertEqual((answer.status, answer.body), (429, b"too many wrong admin tokens; try again later"))
        self.assertTrue(1 <= int(answer.headers["retry-after"]) <= 60)
        # Only the admin API is closed.
        self.assertEqual(self.gate.request("GET", "/v1/models").status, 200)
        self.assertEqual(self.gate.request("GET", "/health").status, 200)

    def test_the_token_is_made_once_shown_once_and_kept_as_a_hash(self):
        gate = self.gate = self.hoteld(config({}))
        found = re.search(r"^admin token, shown this once .*: ([0-9a-f]{64})$", gate.stderr(), re.MULTILINE)
        self.assertTrue(found, gate.stderr())
        token = found.group(1)
        self.assertEqual(self.call("GET", "/api/models", token=token).status, 200)
        file = os.path.join(gate.data_dir, "admin-token")
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)
        with open(file, encoding="ascii") as kept:
            self.assertNotIn(token, kept.read())
        gate.stop()
        again = self.gate = self.hoteld(config({}), data_dir=gate.data_dir)
        self.assertNotIn("shown this once", again.stderr())
        self.assertEqual(self.call("GET", "/api/models", token=token).status, 200)
        again.stop()
        self.start(data_dir=gate.data_dir)
        self.assertEqual(self.call("GET", "/api/models").status, 200)
        self.assertEqual(self.call("GET", "/api/models", token=token).status, 401)

    def test_a_method_that_is_not_there(self):
        self.start()
        answer = self.call("POST", "/api/models", {})
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET"))
        answer = self.call("PATCH", "/api/failover-groups/" + NOBODY, {})
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, PUT, DELETE"))
        answer = self.call("HEAD", "/api/models")
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_bodies_and_queries_that_do_not_fit(self):
        self.start()
        path = "/api/failover-groups"
        self.refused(400, "the body is not valid JSON", "POST", path, raw=b"{")
        self.refused(400, "the body is not valid JSON", "POST", path, raw=b'{"display_name":"\xff"}')
        self.refused(400, "the body is not valid JSON", "POST", path)
        self.refused(400, "the body must be a JSON object", "POST", path, raw=b"[]")
        self.refused(400, "the body is nested too deep", "POST", path, raw=b"[" * 30000)
        self.refused(400, "the body names a member twice", "POST", path, raw=b'{"display_model":"a","display_model":"b"}')
        self.refused(400, "unknown field: nmae", "POST", path, {"nmae": 1})
        self.refused(400, "display_model is required", "POST", path, {})
        self.refused(400, "display_model must be a string", "POST", path, {"display_model": 1})
        self.refused(400, "entry_ids must be an array of strings", "POST", path, {"display_model": "a", "entry_ids": [1]})
        self.refused(400, "unknown query parameter: pgae", "GET", "/api/logs?pgae=1")
        self.refused(400, "the query is malformed or names a parameter twice", "GET", "/api/logs?page=%zz")
        self.refused(400, "the query is malformed or names a parameter twice", "GET", "/api/logs?page=1&page=2")
        answer = self.call("POST", path, raw=b" " * 70000)
        self.assertEqual(answer.status, 413)
        self.assertTrue(answer.headers["content-type"].startswith("text/plain"))


class Groups(ApiCase):
    def test_create_show_list(self):
        self.start()
        self.assertEqual(self.ok("GET", "/api/failover-groups"), {"groups": [], "last_synced_at": None})
        one, two = self.add_models("OpenRouter", "NanoGPT")
        group = self.ok(
            "POST",
            "/api/failover-groups",
            {"display_model": " GLM-4.6 ", "display_name": "GLM 4.6", "description": "d", "entry_ids": [one, two]},
            201,
        )
        self.assertRegex(group["id"], UUID)
        for name in ("created_at", "updated_at"):
            self.assertRegex(group[name], TIME)
        snapshot = {m["id"]: m for m in self.ok("GET", "/api/models")}
        self.assertEqual(
            group,
            {
                "id": group["id"],
                "display_model": "glm-4.6",
                "display_name": "GLM 4.6",
                "description": "d",
                "group_enabled": True,
                "auto_created": False,
                "auto_disabled": False,
                "entries": [
                    {
                        "model_uuid": uuid,
                        "model_id": "z-ai/" + name,
                        "provider_id": snapshot[uuid]["provider_id"],
                        "provider_name": name,
                        "display_name": "z-ai/" + name,
                        "enabled": True,
                        "model_enabled": True,
                        "provider_enabled": True,
                        "disabled_manually": False,
                        "context_length": None,
                        "owned_by": "z-ai",
                    }
                    for uuid, name in ((one, "OpenRouter"), (two, "NanoGPT"))
                ],
                "total_tokens": 0,
                "created_at": group["created_at"],
                "updated_at": group["updated_at"],
            },
        )
        # The order of the members is the seed's own.
        self.assertEqual(
            list(group),
            "id display_model display_name description group_enabled auto_created auto_disabled entries total_tokens"
            " created_at updated_at".split(),
        )
        self.assertEqual(self.ok("GET", "/api/failover-groups/" + group["id"]), group)
        self.assertEqual(self.ok("GET", "/api/failover-groups/" + group["id"].upper()), group)
        self.assertEqual(self.ok("GET", "/api/failover-groups")["groups"], [group])
        # And it is served.
        self.assertIn("hotel/glm-4.6", [m["id"] for m in self.gate.request("GET", "/v1/models").json()["data"]])

    def test_what_cannot_be_created(self):
        self.start()
        one, two = self.add_models("a", "b")
        path = "/api/failover-groups"

        def body(*ids, name="g", **more):
            return dict({"display_model": name, "entry_ids": list(ids)}, **more)

        self.refused(400, "at least 2 entries required for failover group", "POST", path, {"display_model": "g"})
        self.refused(400, "at least 2 entries required for failover group", "POST", path, body(one))
        self.refused(400, "invalid entry_id: nonsense", "POST", path, body(one, "nonsense"))
        self.refused(400, "duplicate entry_id: " + one, "POST", path, body(one, one))
        self.refused(400, "unknown entry_id: " + NOBODY, "POST", path, body(one, NOBODY))
        for name in ("", " ", "x" * 129):
            self.assertEqual(self.call("POST", path, body(one, two, name=name)).status, 400, name)
        self.assertEqual(self.call("POST", path, body(one, two, display_name="x" * 129)).status, 400)
        self.assertEqual(self.call("POST", path, body(one, two, description="x" * 501)).status, 400)
        self.ok("POST", path, body(one, two), 201)
        self.refused(
            409,
            "A failover group for 'g' already exists (auto-created from shared model). Edit the existing group instead.",
            "POST",
            path,
            body(one, two, name="G"),
        )

    def test_update(self):
        self.start()
        one, two, three = self.add_models("a", "b", "c")
        group = self.ok("POST", "/api/failover-groups", {"display_model": "g", "entry_ids": [one, two]}, 201)
        path = "/api/failover-groups/" + group["id"]
        changed = self.ok(
            "PUT",
            path,
            {
                "display_name": "n",
                "description": "d",
                "display_model": " Renamed ",
                "priority_order": [three, one, two],
                "entry_enabled": {one: False},
            },
        )
        self.assertEqual([e["model_uuid"] for e in changed["entries"]], [three, one, two])
        self.assertEqual([e["enabled"] for e in changed["entries"]], [True, False, True])
        self.assertEqual(
            (changed["display_name"], changed["description"], changed["display_model"]), ("n", "d", "renamed")
        )
        self.assertEqual(self.ok("PUT", path, {}), changed)
        off = self.ok("PUT", path, {"group_enabled": False})
        self.assertEqual((off["group_enabled"], off["auto_disabled"]), (False, False))
        answer = self.gate.chat(dict(ASK, model="hotel/renamed"))
        self.assertEqual((answer.status, answer.error["message"]), (404, "failover group disabled"))
        self.refused(400, "priority_order must not be empty", "PUT", path, {"priority_order": []})
        self.refused(400, "duplicate priority_order entry: " + one, "PUT", path, {"priority_order": [one, one]})
        self.refused(
            400,
            "at least one entry must be enabled for an active failover group",
            "PUT",
            path,
            {"group_enabled": True, "entry_enabled": {one: False, two: False, three: False}},
        )
        self.refused(
            400,
            "a failover group needs at least 2 enabled members (model and provider enabled) to be active",
            "PUT",
            path,
            {"group_enabled": True, "entry_enabled": {one: False, two: False}},
        )
        self.ok("POST", "/api/failover-groups", {"display_model": "other", "entry_ids": [one, two]}, 201)
        self.refused(
            409,
            "A failover group for 'other' already exists. Choose a different name.",
            "PUT",
            path,
            {"display_model": "other"},
        )
        self.refused(404, "failover group not found", "PUT", "/api/failover-groups/" + NOBODY, {"display_name": "x"})
        self.refused(404, "failover group not found", "GET", "/api/failover-groups/" + NOBODY)
        self.assertEqual(self.call("GET", "/api/failover-groups/nonsense").status, 400)

    def test_delete(self):
        self.start()
        ids = self.add_models("a", "b")
        group = self.ok("POST", "/api/failover-groups", {"display_model": "g", "entry_ids": ids}, 201)
        self.ok("DELETE", "/api/failover-groups/" + group["id"], code=204)
        self.ok("DELETE", "/api/failover-groups/" + group["id"], code=204)
        self.assertEqual(self.call("DELETE", "/api/failover-groups/nonsense").status, 400)
        self.assertEqual(len(self.ok("GET", "/api/models")), 2)
        self.assertEqual(self.ok("GET", "/api/failover-groups")["groups"], [])

    def test_by_model_and_candidates(self):
        self.start()
        one, two, three = self.add_models("a", "b", "c")
        group = self.ok("POST", "/api/failover-groups", {"display_model": "g", "entry_ids": [one, two]}, 201)
        self.assertEqual(
            self.ok("GET", "/api/failover-groups/by-model/" + two),
            {"id": group["id"], "display_model": "g", "position": 2, "total_entries": 2},
        )
        self.refused(404, "model not in any failover group", "GET", "/api/failover-groups/by-model/" + three)
        self.assertEqual(self.call("GET", "/api/failover-groups/by-model/nonsense").status, 400)
        self.ok("PATCH", "/api/models/" + one, {"enabled": False})
        providers = {p["name"]: p["id"] for p in self.ok("GET", "/api/providers")}
        self.ok("PUT", "/api/providers/" + providers["b"], {"enabled": False})
        self.assertEqual(
            self.ok("GET", "/api/failover-groups/candidates"),
            [
                {
                    "model_uuid": three,
                    "model_id": "z-ai/c",
                    "provider_id": providers["c"],
                    "provider_name": "c",
                    "display_name": "z-ai/c",
                    "context_length": None,
                    "owned_by": "z-ai",
                }
            ],
        )
        entries = self.ok("GET", "/api/failover-groups/" + group["id"])["entries"]
        self.assertEqual(
            [(e["enabled"], e["model_enabled"], e["provider_enabled"], e["disabled_manually"]) for e in entries],
            [(True, False, True, True), (True, True, False, False)],
        )
        # A member whose model is gone is none any more.
        self.ok("DELETE", "/api/models/" + one, code=204)
        entries = self.ok("GET", "/api/failover-groups/" + group["id"])["entries"]
        self.assertEqual([e["model_uuid"] for e in entries], [two])

    def test_what_stands_in_the_file_is_read_only(self):
        gate = self.start_group(chat())
        group = self.ok("GET", "/api/failover-groups")["groups"][0]
        path = "/api/failover-groups/" + group["id"]
        message = "failover group 'demo' is defined in %s; change it there" % gate.config
        self.refused(409, message, "PUT", path, {"display_name": "x"})
        self.refused(409, message, "DELETE", path)
        provider = self.ok("GET", "/api/providers")[0]
        self.assertTrue(provider["read_only"])
        message = "provider 'p1' is defined in %s; change it there" % gate.config
        self.refused(409, message, "PUT", "/api/providers/" + provider["id"], {"enabled": False})
        self.refused(409, message, "DELETE", "/api/providers/" + provider["id"])
        self.assertEqual(self.gate.chat(ASK).status, 200)


class Circuits(ApiCase):
    def test_status_and_resets(self):
        gate = self.start_group(status(503), chat(), extra="settings: {circuit_breaker_threshold: 1}")
        path = "/api/failover-groups/circuit-breaker-status"
        self.assertEqual(self.ok("GET", path), {"closed": 2, "half_open": 0, "open": 0})
        self.assertEqual(self.ok("GET", path + "?detail=1"), {"closed": 2, "half_open": 0, "open": 0, "providers": []})
        self.assertEqual(gate.chat(ASK).status, 200)
        wait_until(lambda: self.ok("GET", path)["open"] == 1, "the circuit is open")
        ids = {p["name"]: p["id"] for p in self.ok("GET", "/api/providers")}
        detail = self.ok("GET", path + "?detail=1")
        rows = {row["provider_name"]: row for row in detail.pop("providers")}
        self.assertEqual(detail, {"closed": 1, "half_open": 0, "open": 1})
        row = rows["p1"]
        circuit = row["circuits"][0]
        for name in ("opened_at", "next_retry_at"):
            self.assertRegex(row[name], TIME)
        self.assertRegex(circuit["last_at"], TIME)
        self.assertEqual(
            {k: v for k, v in row.items() if k not in ("opened_at", "next_retry_at", "circuits")},
            {
                "provider_id": ids["p1"],
                "provider_name": "p1",
                "state": "open",
                "consecutive_fails": 1,
                "cooldown_ms": 60000,
                "provider_open": False,
                "open_models": ["model-p1"],
            },
        )
        self.assertEqual(
            {k: v for k, v in circuit.items() if not k.endswith("_at")},
            {
                "model": "model-p1",
                "state": "open",
                "consecutive_fails": 1,
                "cooldown_ms": 60000,
                "last_cause": "upstream status 503",
                "last_status": 503,
            },
        )
        healthy = rows["p2"]
        self.assertEqual(
            {k: v for k, v in healthy.items() if k != "circuits"},
            {"provider_id": ids["p2"], "provider_name": "p2", "state": "closed", "provider_open": False},
        )
        self.assertEqual(set(healthy["circuits"][0]), {"model", "state", "last_cause", "last_status", "last_at"})

        reset = "/api/failover-groups/circuit-breaker/%s/reset"
        self.refused(400, "invalid provider id", "POST", reset % "nonsense")
        self.assertEqual(
            self.ok("POST", reset % NOBODY), {"provider_id": NOBODY, "previous_state": "closed", "reset": False}
        )
        self.assertEqual(
            self.ok("POST", reset % ids["p1"] + "?model=other%2Fmodel"),
            {"provider_id": ids["p1"], "previous_state": "closed", "reset": False, "model": "other/model"},
        )
        self.assertEqual(
            self.ok("POST", reset % ids["p1"] + "?model=model-p1"),
            {"provider_id": ids["p1"], "previous_state": "open", "reset": True, "model": "model-p1"},
        )
        self.assertEqual(self.ok("GET", path), {"closed": 2, "half_open": 0, "open": 0})

        def open_again():
            self.assertEqual(gate.chat(ASK).status, 200)
            wait_until(lambda: self.ok("GET", path)["open"] == 1, "the circuit is open")

        open_again()
        self.assertEqual(
            self.ok("POST", reset % ids["p1"]), {"provider_id": ids["p1"], "previous_state": "open", "reset": True}
        )
        self.assertEqual(
            self.ok("POST", reset % ids["p1"]), {"provider_id": ids["p1"], "previous_state": "closed", "reset": False}
        )
        open_again()
        group = self.ok("GET", "/api/failover-groups")["groups"][0]
        self.assertEqual(
            self.ok("POST", "/api/failover-groups/%s/circuit-breaker/reset" % group["id"]),
            {"group_id": group["id"], "display_model": "demo", "entries": 2, "cleared": 2, "recovered": 1},
        )
        self.refused(
            404, "failover group not found", "POST", "/api/failover-groups/%s/circuit-breaker/reset" % NOBODY
        )
        open_again()
        self.assertEqual(
            self.ok("POST", "/api/failover-groups/circuit-breaker/reset"), {"cleared": 2, "recovered": 1}
        )
        self.assertEqual(
            self.ok("POST", "/api/failover-groups/circuit-breaker/reset"), {"cleared": 0, "recovered": 0}
        )


class Providers(ApiCase):
    def test_create_show_list(self):
        gate = self.start()
        self.assertEqual(self.ok("GET", "/api/providers"), [])
        provider = self.add_provider("My Acme", max_in_flight=4, models=["b", "a"])
        self.assertRegex(provider["id"], UUID)
        self.assertEqual(
            provider,
            {
                "id": provider["id"],
                "name": "My Acme",
                "base_url": "https://My-Acme.example/v1",
                "provider_type": "openai",
                "masked_key": "sk-...0001",
                "key_state": "ready",
                "enabled": True,
                "autodiscovery_enabled": True,
                "fixed_models": True,
                "read_only": False,
                "max_in_flight": 4,
                "last_discovered_at": None,
                "last_used_at": None,
                "created_at": provider["created_at"],
                "updated_at": provider["updated_at"],
                "model_count": 2,
                "total_tokens": 0,
                "tokens_since": None,
            },
        )
        self.assertRegex(provider["created_at"], TIME)
        self.assertEqual(self.ok("GET", "/api/providers"), [provider])
        self.assertEqual(self.ok("GET", "/api/providers/" + provider["id"]), provider)
        self.refused(404, "provider not found", "GET", "/api/providers/" + NOBODY)
        self.refused(400, "invalid provider id", "GET", "/api/providers/nonsense")
        # The key is nowhere to be seen.
        secret = "sk-My Acme-secret-0001"
        for path in ("/api/providers", "/api/models", "/api/settings?detail=1", "/api/openapi.json"):
            self.assertNotIn(secret, self.call("GET", path).body.decode())
        self.assertNotIn(secret, gate.stderr())
        with open(os.path.join(gate.data_dir, "hotel.db"), "rb") as file:
            self.assertNotIn(secret.encode(), file.read())

    def test_what_cannot_be_created(self):
        self.start(STRICT)
        path = "/api/providers"
        good = {"name": "acme", "provider_type": "openai", "base_url": "https://acme.example/v1", "api_key": "sk-1"}
        for name in ("name", "provider_type", "base_url"):
            self.refused(400, name + " is required", "POST", path, {k: v for k, v in good.items() if k != name})
        unsaid = {k: v for k, v in good.items() if k != "api_key"}
        self.refused(400, KEY_REQUIRED, "POST", path, unsaid)
        answer = self.call("POST", path, dict(good, provider_type="nope"))
        self.assertEqual(answer.status, 400)
        self.assertIn("known ones are: openai, anthropic", answer.body.decode())
        for most in (0, -1, 10001):
            self.refused(
                400, "max_in_flight is 1 to 10000, or null for none", "POST", path, dict(good, max_in_flight=most)
            )
        for name in ("", "a/b", "hotel", "p", "x" * 101):
            self.assertEqual(self.call("POST", path, dict(good, name=name)).status, 400, name)
        # The same addresses are refused here as in the configuration (F181).
        for url in (
            "http://acme.example/v1",
            "https://127.0.0.1/v1",
            "https://2852039166/",
            "https://[::ffff:169.254.169.254]/",
            "https://good@169.254.169.254/",
            "ftp://acme.example",
            "nonsense",
            "https://acme.example/v1?api_key=sk-in-the-url",
            "https://acme.example/v1#sk-in-the-url",
            "https://sk-in-the-url@acme.example/v1",
        ):
            answer = self.call("POST", path, dict(good, base_url=url))
            self.assertEqual(answer.status, 400, url)
            self.assertTrue(answer.body.startswith(b"base_url"), answer.body)
            self.assertNotIn(b"in-the-url", answer.body)
        self.assertEqual(self.ok("GET", path), [])
        self.ok("POST", path, good, 201)
        self.refused(
            409,
            "a provider named 'acme' already exists; choose a different name",
            "POST",
            path,
            good,
        )
        keyless = self.ok("POST", path, dict(good, name="local", provider_type="ollama", api_key=""), 201)
        self.assertEqual((keyless["masked_key"], keyless["key_state"]), ("", "keyless"))
        keyless = self.ok("POST", path, dict(unsaid, name="unsaid", provider_type="ollama"), 201)
        self.assertEqual(keyless["key_state"], "keyless")
        short = self.ok("POST", path, dict(good, name="short", api_key="sk-12345678"), 201)
        self.assertEqual(short["masked_key"], "...")

    def test_a_provider_that_is_added_while_it_runs_is_used_at_once(self):
        upstream = self.upstream(chat("added"))
        self.start(config({}, server=""))
        provider = self.add_provider("acme", url=upstream.url)
        answer = self.gate.chat(dict(ASK, model="acme/any-model"))
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(upstream.seen[0].header("authorization"), "Bearer sk-acme-secret-0001")
        self.ok("PUT", "/api/providers/" + provider["id"], {"api_key": "sk-another-secret-2"})
        self.assertEqual(self.gate.chat(dict(ASK, model="acme/any-model")).status, 200)
        self.assertEqual(upstream.seen[1].header("authorization"), "Bearer sk-another-secret-2")

        def used():
            return self.ok("GET", "/api/providers/" + provider["id"])

        wait_until(lambda: used()["total_tokens"] == 4, "the tokens are counted")
        self.assertRegex(used()["last_used_at"], TIME)
        self.assertRegex(used()["tokens_since"], TIME)
        self.ok("DELETE", "/api/providers/" + provider["id"], code=204)
        self.refused(404, "provider not found", "DELETE", "/api/providers/" + provider["id"])
        self.assertEqual(self.gate.chat(dict(ASK, model="acme/any-model")).status, 404)

    def test_an_empty_key_says_that_there_is_none_as_in_the_file(self):
        upstream = self.upstream(chat())
        self.start(config({}, server=""))
        provider = self.add_provider("acme", url=upstream.url, api_key="")
        self.assertEqual((provider["masked_key"], provider["key_state"]), ("", "keyless"))
        self.assertEqual(self.gate.chat(dict(ASK, model="acme/m")).status, 200)
        self.assertIsNone(upstream.seen[0].header("authorization"))
        path = "/api/providers/" + provider["id"]
        self.assertEqual(self.ok("PUT", path, {"max_in_flight": 2})["key_state"], "keyless")
        self.assertEqual(self.ok("PUT", path, {"api_key": "sk-1234567890ab"})["key_state"], "ready")
        self.assertEqual(self.ok("PUT", path, {"api_key": ""})["key_state"], "keyless")
        self.assertEqual(self.ok("PUT", path, {"provider_type": "ollama"})["key_state"], "keyless")
        self.refused(400, KEY_REQUIRED, "PUT", path, {"provider_type": "openai"})
        self.ok("PUT", path, {"provider_type": "openai", "api_key": ""})

    def test_update(self):
        self.start(STRICT)
        provider = self.add_provider("acme", max_in_flight=3)
        self.add_provider("other")
        path = "/api/providers/" + provider["id"]
        changed = self.ok("PUT", path, {"name": "acme 2", "enabled": False, "max_in_flight": None})
        self.assertEqual((changed["name"], changed["enabled"], changed["max_in_flight"]), ("acme 2", False, None))
        self.assertEqual((changed["masked_key"], changed["base_url"]), ("sk-...0001", provider["base_url"]))
        self.refused(
            409, "a provider named 'other' already exists; choose a different name", "PUT", path, {"name": "other"}
        )
        self.refused(400, KEY_REQUIRED, "PUT", path, {"api_key": None})
        self.assertEqual(self.call("PUT", path, {"base_url": "http://127.0.0.1/"}).status, 400)
        keyed = self.call("PUT", path, {"base_url": "https://acme.example/v1?key=k"})
        self.assertEqual(keyed.status, 400)
        self.assertIn(b"give the key as api_key", keyed.body)
        versioned = "https://acme.example/v1?api-version=2024-10-21"
        self.assertEqual(self.ok("PUT", path, {"base_url": versioned})["base_url"], versioned)
        self.refused(400, "name must be a string", "PUT", path, {"name": None})
        keyless = self.ok("PUT", path, {"provider_type": "custom", "api_key": None})
        self.assertEqual((keyless["provider_type"], keyless["key_state"]), ("custom", "keyless"))
        self.refused(404, "provider not found", "PUT", "/api/providers/" + NOBODY, {})

    def test_last_cap_is_there_once_it_was_drawn(self):
        spent = status(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})
        gate = self.start_group(spent, chat())
        self.assertNotIn("last_cap", self.ok("GET", "/api/providers")[0])
        self.assertEqual(gate.chat(ASK).status, 200)
        cap = self.ok("GET", "/api/providers")[0]["last_cap"]
        self.assertEqual(set(cap), {"phrase", "model", "entitled", "at"})
        self.assertEqual((cap["model"], cap["entitled"]), ("model-p1", True))
        self.assertRegex(cap["at"], TIME)


class Models(ApiCase):
    def test_list_filter_switch_delete(self):
        self.start()
        one, two = self.add_models("a", "b")
        models = self.ok("GET", "/api/models")
        first = models[0]
        self.assertRegex(first["created_at"], TIME)
        self.assertEqual(
            first,
            {
                "id": one,
                "model_id": "z-ai/a",
                "name": "a",
                "display_name": "z-ai/a",
                "provider_id": first["provider_id"],
                "provider_name": "a",
                "provider_enabled": True,
                "capabilities": "[]",
                "context_length": None,
                "max_output_tokens": None,
                "input_price_per_million": None,
                "output_price_per_million": None,
                "input_price_per_million_cache_hit": None,
                "price_customized": False,
                "owned_by": "z-ai",
                "description": "",
                "params": "[]",
                "modality": "",
                "input_modalities": "[]",
                "output_modalities": "[]",
                "enabled": True,
                "disabled_manually": False,
                "created_at": first["created_at"],
                "last_seen_at": None,
            },
        )

        def ids(query):
            return [m["id"] for m in self.ok("GET", "/api/models" + query)]

        self.assertEqual(ids(""), [one, two])
        self.assertEqual(ids("?provider_id=" + first["provider_id"]), [one])
        self.assertEqual(ids("?provider_id=" + NOBODY), [])
        changed = self.ok("PATCH", "/api/models/" + one, {"enabled": False})
        self.assertEqual((changed["enabled"], changed["disabled_manually"]), (False, True))
        self.assertEqual((ids("?enabled=true"), ids("?enabled=false")), ([two], [one]))
        self.ok("PUT", "/api/providers/" + first["provider_id"], {"enabled": False})
        self.assertEqual((ids("?provider_enabled=true"), ids("?provider_enabled=false")), ([two], [one]))
        self.refused(400, "enabled must be true or false", "GET", "/api/models?enabled=1")
        self.assertEqual(self.ok("PATCH", "/api/models/" + one, {}), self.ok("PATCH", "/api/models/" + one, {}))
        self.refused(400, "enabled must be true or false", "PATCH", "/api/models/" + one, {"enabled": 1})
        self.refused(404, "model not found", "PATCH", "/api/models/" + NOBODY, {"enabled": True})
        self.refused(400, "invalid model id", "PATCH", "/api/models/nonsense", {"enabled": True})
        self.ok("DELETE", "/api/models/" + one, code=204)
        self.refused(404, "model not found", "DELETE", "/api/models/" + one)
        self.assertEqual(ids(""), [two])


class Settings(ApiCase):
    def test_set_show_take_back(self):
        self.start(config({}, extra="settings: {ttft_timeout: 5s}"), env={"CIRCUIT_BREAKER_TIMEOUT": "45s"})
        flat = self.ok("GET", "/api/settings")
        self.assertEqual((flat["ttft_timeout"], flat["request_timeout"], flat["hedging_enabled"]), ("5s", "1m", "false"))
        self.assertIn("app_version", flat)
        rows = {row["name"]: row for row in self.ok("GET", "/api/settings?detail=1")}
        row = rows["timeouts.ttft_timeout"]
        self.assertEqual(
            list(row), ["name", "flat_key", "value", "default", "source", "where", "pinned", "type", "range", "help"]
        )
        self.assertEqual((row["source"], row["pinned"], row["value"], row["default"]), ("file", True, "5s", "1m"))
        self.assertTrue(row["where"].startswith(self.gate.config + ":"))
        self.assertEqual(rows["log.retention"]["source"], "profile" if rows["log.retention"]["where"] else "default")

        changed = self.ok("PUT", "/api/settings", {"hedging_enabled": True, "timeouts.request_timeout": "90s", "log_retention": "24h"})
        self.assertEqual(
            (changed["hedging_enabled"], changed["request_timeout"], changed["log_retention"]), ("true", "1m30s", "24h")
        )
        rows = {row["name"]: row for row in self.ok("GET", "/api/settings?detail=1")}
        self.assertEqual(rows["hedging.enabled"]["source"], "runtime")

        self.refused(400, "unknown setting: nonsense", "PUT", "/api/settings", {"nonsense": 1, "hedging_enabled": False})
        self.assertEqual(self.ok("GET", "/api/settings")["hedging_enabled"], "true")  # all or nothing
        answer = self.call("PUT", "/api/settings", {"ttft_timeout": "7s"})
        self.assertEqual(answer.status, 409)
        self.assertIn("is pinned by " + self.gate.config, answer.body.decode())
        answer = self.call("PUT", "/api/settings", {"circuit_breaker_cooldown": "7s"})
        self.assertEqual(answer.status, 409)
        self.assertIn("the environment variable CIRCUIT_BREAKER_TIMEOUT", answer.body.decode())
        self.assertEqual(self.call("PUT", "/api/settings", {"request_timeout": "soon"}).status, 400)
        self.refused(400, "request_timeout must be a string, a number or a boolean", "PUT", "/api/settings", {"request_timeout": []})
        self.assertEqual(self.call("PUT", "/api/settings", {"request_timeout": "1" * 501}).status, 400)

        self.refused(400, "keys is required", "DELETE", "/api/settings", {})
        taken = self.ok("DELETE", "/api/settings", {"keys": ["hedging_enabled"]})
        self.assertEqual((taken["hedging_enabled"], taken["request_timeout"]), ("false", "1m30s"))
        self.assertEqual(self.call("DELETE", "/api/settings", {"keys": ["nonsense"]}).status, 400)
        self.assertEqual(self.ok("DELETE", "/api/settings", {"keys": []})["request_timeout"], "1m")
        # What is set outlives the process.
        self.ok("PUT", "/api/settings", {"hedging_enabled": True})
        data_dir = self.gate.data_dir
        self.gate.stop()
        self.start(data_dir=data_dir)
        self.assertEqual(self.ok("GET", "/api/settings")["hedging_enabled"], "true")


# Of a row of the request log: what is of the moment.
LIVE = ("created_at", "duration_ms", "tokens_per_second", "virtual_key_id")


class Logs(ApiCase):
    def text(self):
        """The configuration of the sidecar."""
        with open(self.gate.config, encoding="utf-8") as file:
            return file.read()

    def served(self, gate, **more):
        answer = gate.chat(dict(ASK, **more))
        return answer.headers["x-hotel-request-id"]

    def ids(self, query=""):
        return [entry["id"] for entry in self.ok("GET", "/api/logs" + query)["entries"]]

    def test_a_failed_over_request_and_its_trail(self):
        gate = self.start_group(status(429, {"error": {"message": "slow down"}}, [("Retry-After", "2")]), chat("hello"))
        request = self.served(gate)
        wait_until(lambda: self.ids() == [request], "the row is written")
        entry = self.ok("GET", "/api/logs/" + request)
        providers = {p["name"]: p["id"] for p in self.ok("GET", "/api/providers")}
        self.assertRegex(entry["created_at"], TIME)
        self.assertGreaterEqual(entry["duration_ms"], 0)
        attempts = entry.pop("attempts")
        speed = entry["tokens_per_second"]
        self.assertTrue(speed is None if entry["duration_ms"] == 0 else speed > 0, entry)
        self.assertEqual(
            {k: v for k, v in entry.items() if k not in LIVE},
            {
                "id": request,
                "model_id": "hotel/demo",
                "resolved_model_id": "model-p2",
                "provider_id": providers["p2"],
                "provider_name": "p2",
                "virtual_key_name": "dev",
                "virtual_key_deleted": False,
                "client_ip": "127.0.0.1",
                "endpoint_type": "chat",
                "streaming": False,
                "status_code": 200,
                "state": "completed",
                "error_kind": None,
                "error_message": None,
                "failover_attempt": 1,
                "ttft_ms": None,
                "tokens_prompt": 1,
                "tokens_completion": 1,
                "tokens_completion_reasoning": 0,
                "tokens_prompt_cache_hit": 0,
                "tokens_prompt_cache_miss": 1,
                "tokens_estimated": False,
                "cost_usd": None,
            },
        )
        self.assertEqual([a["attempt"] for a in attempts], [0, 1])
        self.assertEqual(
            {k: v for k, v in attempts[0].items() if k not in ("duration_ms", "detail", "phrase")},
            {
                "attempt": 0,
                "provider_id": providers["p1"],
                "provider": "p1",
                "model": "model-p1",
                "status": 429,
                "error_kind": "provider_saturated",
                "rate_limit": "saturated",
                "tries": 1,
                "breaker": "noop",
            },
        )
        self.assertEqual((attempts[1]["status"], attempts[1]["breaker"]), (200, "success"))
        query = "?attempt_provider_id=%s&attempt_status=%d"
        self.assertEqual(self.ids(query % (providers["p1"], 429)), [request])
        self.assertEqual(self.ids(query % (providers["p1"], 200)), [])
        self.assertEqual(self.ids(query % (providers["p2"], 429)), [])
        self.assertEqual(self.ids("?provider_id=" + providers["p1"]), [])
        group = self.ok("GET", "/api/failover-groups")["groups"][0]
        self.assertEqual(group["total_tokens"], 2)
        self.refused(404, "log entry not found", "GET", "/api/logs/nonsense")

    def test_pages_cursors_and_filters(self):
        gate = self.start_group(chat())
        requests = [self.served(gate) for _ in range(5)]
        requests.append(self.served(gate, model="p1/other", stream=True))
        missing = gate.chat(dict(ASK, model="nonsense"))
        self.assertIn(missing.status, (400, 404))
        requests.append(missing.headers["x-hotel-request-id"])
        wait_until(lambda: len(self.ids()) == 7, "the rows are written")
        newest = requests[::-1]
        self.assertEqual(self.ids(), newest)
        page = self.ok("GET", "/api/logs?page=2&per_page=3")
        self.assertEqual(list(page), ["entries", "total", "total_exact", "page", "per_page"])
        self.assertEqual((page["total"], page["total_exact"], page["page"], page["per_page"]), (7, True, 2, 3))
        self.assertEqual([e["id"] for e in page["entries"]], newest[3:6])
        self.assertEqual(self.ids("?sort_dir=asc&sort_by=created_at"), requests)
        self.assertEqual(self.ids("?status_code=4xx"), [newest[0]])
        self.assertEqual(self.ids("?status_code=%d" % missing.status), [newest[0]])
        self.assertEqual(self.ids("?status_code=200&model_id=p1%2Fother"), [newest[1]])
        self.assertEqual(self.ids("?model_id=hotel/demo"), newest[2:])
        self.assertEqual(self.ids("?virtual_key_name=dev&endpoint_type=chat"), newest)
        key = self.ok("GET", "/api/logs/" + newest[0])["virtual_key_id"]
        self.assertRegex(key, UUID)
        self.assertEqual(self.ids("?client_ip=127.0.0.1&virtual_key_id=" + key), newest)
        self.assertEqual(self.ids("?client_ip=127.0.0.2"), [])
        self.assertEqual(self.ids("?virtual_key_id=" + NOBODY), [])
        self.assertEqual(self.ids("?status_code=0"), [])
        self.assertEqual(self.ids("?endpoint_type=embeddings"), [])
        self.assertEqual(self.ids("?from=2099-01-01T00:00:00Z"), [])
        self.assertEqual(self.ids("?to=2099-01-01T00:00:00Z"), newest)

        walked, cursor = [], ""
        while cursor is not None:
            step = self.ok("GET", "/api/logs/cursor?limit=2&status_code=200" + ("&cursor=" + cursor if cursor else ""))
            walked += [e["id"] for e in step["entries"]]
            cursor = step["next_cursor"]
        self.assertEqual(walked, newest[1:])
        for query in ("page=0", "page=x", "per_page=0", "per_page=201", "sort_by=cost", "sort_dir=up", "status_code=abc",
                      "status_code=1000", "provider_id=x", "virtual_key_id=x", "attempt_provider_id=x", "attempt_status=x", "from=today"):
            self.assertEqual(self.call("GET", "/api/logs?" + query).status, 400, query)
        self.refused(400, "invalid cursor", "GET", "/api/logs/cursor?cursor=x")
        # Beyond the pages there is the cursor.
        self.assertEqual(self.call("GET", "/api/logs?per_page=200&page=1000").status, 400)

    def test_stats(self):
        gate = self.start_group(status(400), chat())
        zero = {"requests": 0, "failed": 0, "error_rate": 0.0, "tokens_prompt": 0, "tokens_completion": 0}
        empty = dict({"period": "24h"}, **zero, avg_duration_ms=None, providers=[])
        self.assertEqual(self.ok("GET", "/api/stats"), empty)
        self.served(gate)
        for _ in range(3):
            self.served(gate, model="p2/any")
        wait_until(lambda: self.ok("GET", "/api/stats?period=1h")["requests"] == 4, "the requests are counted")
        stats = self.ok("GET", "/api/stats?period=7d")
        self.assertEqual(list(stats), list(empty))
        self.assertEqual((stats["period"], stats["failed"], stats["error_rate"]), ("7d", 1, 0.25))
        self.assertEqual((stats["tokens_prompt"], stats["tokens_completion"]), (3, 3))
        self.assertGreaterEqual(stats["avg_duration_ms"], 0)
        rows = {row["provider_name"]: row for row in stats["providers"]}
        self.assertEqual((rows["p1"]["requests"], rows["p1"]["failed"]), (1, 1))
        self.assertEqual((rows["p2"]["requests"], rows["p2"]["failed"], rows["p2"]["tokens_prompt"]), (3, 0, 3))
        self.assertEqual(list(rows["p1"]), ["provider_id", "provider_name"] + list(zero) + ["avg_duration_ms"])
        self.refused(400, "period must be one of: 1h, 24h, 7d", "GET", "/api/stats?period=1d")

    def test_purge(self):
        gate = self.start_group(chat())
        self.served(gate)
        wait_until(lambda: len(self.ids()) == 1, "the row is written")
        self.refused(400, "older_than is required", "DELETE", "/api/logs/purge", {})
        self.refused(
            400, "older_than must be one of: 1h, 1d, 1w, 1m, all", "DELETE", "/api/logs/purge", {"older_than": "2h"}
        )
        for age in ("1h", "1d", "1w", "1m"):
            self.ok("DELETE", "/api/logs/purge", {"older_than": age}, 204)
        self.assertEqual(len(self.ids()), 1)
        self.ok("DELETE", "/api/logs/purge", {"older_than": "all"}, 204)
        self.assertEqual(self.ok("GET", "/api/logs")["total"], 0)

    def test_a_stopped_sidecar_has_written_everything(self):
        gate = self.start_group(chat())
        requests = [self.served(gate) for _ in range(20)]
        data_dir, text = gate.data_dir, self.text()
        gate.stop()
        self.start(text, data_dir=data_dir)
        self.assertEqual(self.ids(), requests[::-1])

    def test_F187_a_database_locked_by_somebody_else_fails_no_request_and_loses_no_row(self):
        gate = self.start_group(chat())
        other = sqlite3.connect(os.path.join(gate.data_dir, "hotel.db"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        requests = [self.served(gate) for _ in range(50)]
        # Reading goes on; writing on behalf of an operator waits, and says so.
        self.assertEqual(self.ids(), [])
        other.execute("ROLLBACK")
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == 50, "the rows are written")
        self.assertEqual(self.ids("?per_page=50"), requests[::-1])

    def test_F189_a_burst_of_requests_has_as_many_rows(self):
        sim = self.sim()
        gate = self.start(config({"p1": sim.url}, {"demo": ["p1/ok"]}, server="log_requests: false"))
        body = json.dumps(ASK).encode()
        statuses = []

        def burst():
            with gate.client() as client:
                for _ in range(300):
                    client.send_request("POST", "/v1/chat/completions", body)
                    statuses.append(client.read_answer().status)

        threads = [threading.Thread(target=burst) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(statuses), set(statuses)), (3000, {200}))
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == 3000, "every row is written")
        self.assertEqual(self.ok("GET", "/api/logs?model_id=hotel/demo&status_code=2xx")["total"], 3000)
        self.assertRegex(self.call("GET", "/metrics").body, rb"hotel_log_rows_lost_total 0\n")

    def test_calls_that_wait_for_the_disk_do_not_hold_up_health_checks(self):
        gate = self.start_group(chat())
        other = sqlite3.connect(os.path.join(gate.data_dir, "hotel.db"), isolation_level=None)
        self.addCleanup(other.close)

        def asked_together():
            codes = []
            begun = time.monotonic()
            other.execute("BEGIN IMMEDIATE")

            def purge():
                codes.append(self.call("DELETE", "/api/logs/purge", {"older_than": "all"}).status)

            threads = [threading.Thread(target=purge) for _ in range(10)]
            for thread in threads:
                thread.start()
            # Six of them wait for the lock, the others are turned away; neither is in the way of this.
            wait_until(lambda: len(codes) >= 4, "four are turned away")
            self.assertEqual(gate.request("GET", "/health").body, b"OK")
            turned_away = list(codes)
            other.execute("ROLLBACK")
            # Who waits for five seconds gives up, too.
            in_time = time.monotonic() - begun < 4
            for thread in threads:
                thread.join()
            if in_time:
                self.assertEqual(turned_away, [503] * 4)
                self.assertEqual(sorted(codes), [204] * 6 + [503] * 4)
            return in_time

        wait_until(asked_together, "all are there before the first gives up")

    def test_what_was_written_before_a_kill_is_there_after_it(self):
        gate = self.start_group(chat())
        data_dir, text = gate.data_dir, self.text()
        written = []
        for _ in range(3):
            written.append(self.served(self.gate))
            wait_until(lambda: self.ids()[:1] == written[-1:], "the row is written")
            for _ in range(10):
                self.served(self.gate)
            self.gate.expected_exit = -9
            self.gate.signal(9)
            self.gate.wait()
            self.start(text, data_dir=data_dir)
            kept = self.ids("?per_page=200")
            self.assertTrue(set(written) <= set(kept))
        self.assertEqual(self.gate.chat(ASK).status, 200)

    def test_no_secret_and_no_text_in_any_file(self):
        gate = self.start_group(status(401, {"error": {"message": "Incorrect API key provided: sk-p1-secret-0001"}}), chat("the-answer"))
        body = dict(ASK, messages=[{"role": "user", "content": "the-prompt"}])
        self.assertEqual(gate.chat(body).status, 200)
        wait_until(lambda: len(self.ids()) == 1, "the row is written")
        for name in os.listdir(gate.data_dir):
            with open(os.path.join(gate.data_dir, name), "rb") as file:
                data = file.read()
            for secret in (b"sk-p1-secret-0001", KEY.encode(), TOKEN.encode(), b"the-prompt", b"the-answer"):
                self.assertNotIn(secret, data, name)


class Events(ApiCase):
    def listen(self, last_id=None):
        client = self.gate.client()
        self.addCleanup(client.sock.close)
        client.send_request("GET", "/api/events", headers={"Authorization": "Bearer " + TOKEN, "Last-Event-ID": last_id})
        code, headers = client.read_head()
        self.assertEqual((code, headers["content-type"]), (200, "text/event-stream"))
        self.assertRegex(client.read_chunk(), rb"\A: connected\nid: \S+\n\n\Z")
        return client

    def event(self, client):
        frame = client.read_chunk().decode()
        fields = dict(line.split(": ", 1) for line in frame.strip().split("\n"))
        event = json.loads(fields["data"])
        self.assertEqual(event["id"], fields["id"])
        return event

    def test_an_opened_circuit_is_told_at_once_and_again_to_who_missed_it(self):
        gate = self.start_group(status(503), chat(), extra="settings: {circuit_breaker_threshold: 1}")
        first = self.listen()
        self.assertEqual(gate.chat(ASK).status, 200)
        event = self.event(first)
        provider = self.ok("GET", "/api/providers")[0]
        self.assertEqual(list(event), ["id", "type", "severity", "source", "message", "metadata", "timestamp"])
        self.assertEqual((event["type"], event["severity"], event["source"]), ("circuit_breaker.open", "warning", "failover"))
        self.assertEqual(event["message"], "Provider p1 circuit breaker: open for model model-p1: upstream status 503")
        self.assertRegex(event["timestamp"], TIME)
        metadata = event["metadata"]
        self.assertEqual((metadata["provider_id"], metadata["model"], metadata["status"], metadata["quota_pinned"]),
                         (provider["id"], "model-p1", 503, False))
        first.sock.close()
        self.ok("POST", "/api/failover-groups/circuit-breaker/reset")
        self.assertEqual(gate.chat(ASK).status, 200)
        missed = self.event(self.listen(event["id"]))
        self.assertEqual(missed["type"], "circuit_breaker.open")
        self.assertNotEqual(missed["id"], event["id"])
        everything = self.listen("from another run").read_chunk()
        self.assertEqual(everything.count(b"circuit_breaker.open\","), 2)

    def test_who_listens_does_not_hold_up_the_stop(self):
        self.start(config({}, server="drain_timeout: 60s"))
        client = self.listen()
        self.gate.signal(15)
        self.assertEqual(client.read_chunk(), b"")
        self.assertEqual(self.gate.wait(), 0)

    def test_only_with_the_token_and_only_as_get(self):
        self.start()
        self.assertEqual(self.call("GET", "/api/events", token="").status, 401)
        self.assertEqual(self.call("HEAD", "/api/events").status, 405)
        self.assertEqual(self.call("POST", "/api/events").status, 405)


class Document(ApiCase):
    def test_the_document_names_every_endpoint(self):
        self.start()
        document = self.ok("GET", "/api/openapi.json")
        self.assertEqual(document["openapi"], "3.0.3")
        self.assertIn("/api/failover-groups/{id}", document["paths"])
        self.assertEqual(
            document["paths"]["/api/failover-groups"]["post"]["requestBody"]["content"]["application/json"]["schema"][
                "required"
            ],
            ["display_model"],
        )
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                with self.subTest(path=path, method=method):
                    names = re.findall(r"\{(\w+)\}", path)
                    told = [p["name"] for p in operation.get("parameters", []) if p["in"] == "path"]
                    self.assertEqual(told, names)
                    if path == "/api/events":
                        continue
                    # Nothing a stranger sends gets a 500 out of it.
                    real = re.sub(r"\{\w+\}", NOBODY, path)
                    for raw in (b"", b"{}", b"null", b"[]", b'{"x":1}', b"\x00\xff"):
                        answer = self.call(method.upper(), real, raw=raw)
                        self.assertLess(answer.status, 500, (real, raw, answer.body))


if __name__ == "__main__":
    unittest.main()
