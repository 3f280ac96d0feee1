"""Discovery of models, the groups that follow from it, and the endpoints of both."""

import json
import threading
import unittest

from harness import TestCase, answer, chat, config, wait_until

TOKEN = "admin-token-for-tests"
NOBODY = "aaaaaaaa-0000-4000-8000-00000000000f"


class Lister:
    """A healthy provider with a list of models that the test changes."""

    def __init__(self, *models):
        self.models = list(models)
        self.status = 200
        self.listed = 0

    def __call__(self, conn, seen, number):
        if not seen.head.startswith(b"GET "):
            return chat()(conn, seen, number)
        self.listed += 1
        if self.status != 200:
            return answer(conn, self.status, {"error": {"message": "no list, " + (seen.header("authorization") or "")}})
        rows = [m if isinstance(m, dict) else {"id": m, "object": "model"} for m in self.models]
        return answer(conn, 200, {"object": "list", "data": rows})


class Discovery(TestCase):
    def start(self, listers, extra="", enabled=True, **options):
        """A sidecar whose file has these providers, named a, b, ..."""
        self.names = [chr(ord("a") + i) for i in range(len(listers))]
        upstreams = {name: self.upstream(lister) for name, lister in zip(self.names, listers)}
        env = {"ADMIN_TOKEN": TOKEN, "DISCOVERY_ENABLED": "true" if enabled else "false"}
        self.gate = self.hoteld(config(upstreams, extra=extra, **options), env=env)
        return upstreams

    def call(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        return self.gate.request(method, path, data, {"Authorization": "Bearer " + TOKEN})

    def ok(self, method, path, body=None, code=200):
        got = self.call(method, path, body)
        self.assertEqual(got.status, code, got.body)
        return None if code == 204 else got.json()

    def refused(self, code, message, method, path, body=None):
        got = self.call(method, path, body)
        self.assertEqual((got.status, got.body.decode()), (code, message))

    def provider(self, name):
        return next(p for p in self.ok("GET", "/api/providers") if p["name"] == name)

    def models(self, name):
        return {m["model_id"]: m for m in self.ok("GET", "/api/models") if m["provider_name"] == name}

    def state(self, name):
        rows = self.ok("GET", "/api/discovery/status")["providers"]
        return next(row for row in rows if row["provider_name"] == name)

    def groups(self):
        return {g["display_model"]: g for g in self.ok("GET", "/api/failover-groups")["groups"]}

    def listed(self):
        return [m["id"] for m in self.gate.request("GET", "/v1/models").json()["data"]]

    def ask(self, model):
        return self.gate.chat({"model": model, "messages": [{"role": "user", "content": "hi"}]})

    # Discovery itself.

    def test_a_start_finds_models_and_makes_groups(self):
        details = {
            "id": "z-ai/GLM-4.6",
            "name": "GLM 4.6",
            "context_length": 202752,
            "pricing": {"prompt": "0.0000006", "completion": "0.0000022"},
        }
        a, b = Lister(details, "only-a"), Lister("glm-4.6")
        self.start([a, b])
        wait_until(lambda: "glm-4.6" in self.groups(), "the auto group")
        wait_until(lambda: self.state("a")["state"] == self.state("b")["state"] == "fresh", "both scans")
        group = self.groups()["glm-4.6"]
        self.assertTrue(group["auto_created"] and group["group_enabled"])
        self.assertEqual([e["provider_name"] for e in group["entries"]], ["b", "a"])  # by model id, then age
        self.assertEqual(group["entries"][1]["display_name"], "GLM 4.6")
        self.assertEqual(group["entries"][1]["context_length"], 202752)
        model = self.models("a")["z-ai/GLM-4.6"]
        self.assertEqual((model["name"], model["owned_by"]), ("GLM 4.6", "z-ai"))
        self.assertEqual((model["input_price_per_million"], model["output_price_per_million"]), (0.6, 2.2))
        self.assertIsNone(model["input_price_per_million_cache_hit"])
        self.assertIsNotNone(model["last_seen_at"])
        provider = self.provider("a")
        self.assertEqual(provider["model_count"], 2)
        self.assertTrue(provider["autodiscovery_enabled"])
        self.assertIsNotNone(provider["last_discovered_at"])
        self.assertIsNotNone(self.ok("GET", "/api/failover-groups")["last_synced_at"])
        self.assertIn("hotel/glm-4.6", self.listed())
        self.assertEqual(self.ask("hotel/glm-4.6").headers["x-hotel-provider"], "b")

    def test_a_failed_refresh_keeps_groups_and_leaves_the_provider_out_until_it_is_back(self):
        a, b = Lister("m"), Lister("m")
        self.start([a, b], extra="discovery: {interval: 1s, recheck_interval: 1s}")
        wait_until(lambda: "m" in self.groups(), "the auto group")
        a.status = 404
        wait_until(lambda: self.state("a")["left_out"], "a is stale")
        row = self.state("a")
        self.assertEqual(row["state"], "stale")
        self.assertIn("status 404", row["last_error"])
        self.assertNotIn("sk-a-secret", row["last_error"])
        self.assertEqual(len(self.groups()["m"]["entries"]), 2)
        self.assertTrue(self.models("a")["m"]["enabled"])
        listed = self.listed()
        self.assertNotIn("a/m", listed)
        self.assertIn("hotel/m", listed)
        served = self.ask("hotel/m")
        self.assertEqual((served.headers["x-hotel-provider"], served.headers["x-hotel-attempts"]), ("b", "1"))
        self.assertEqual(self.ask("a/m").headers["x-hotel-provider"], "a")  # R87
        # R89: now everybody fails, and what there was is used again.
        b.status = 404
        wait_until(lambda: "a/m" in self.listed() and self.state("b")["state"] == "stale", "all fail")
        self.assertEqual(self.ask("hotel/m").headers["x-hotel-provider"], "a")
        a.status = b.status = 200
        wait_until(lambda: self.state("a")["state"] == self.state("b")["state"] == "fresh", "both are back")
        self.assertIn("a/m", self.listed())

    def test_scans_by_hand_say_what_changed(self):
        a = Lister("m")
        self.start([a, Lister()], enabled=False)
        path = "/api/providers/%s/discover" % self.provider("a")["id"]
        first = self.ok("POST", path)
        self.assertEqual((first["success"], first["models_found"]), (True, 1))
        self.assertEqual(first["diff"], {"added": [{"model_id": "m", "reason": "new_model"}]})
        self.assertEqual(self.ok("POST", path)["diff"], {})
        a.models = [{"id": "m", "context_length": 4096}, "n"]
        self.assertEqual(
            self.ok("POST", path)["diff"],
            {
                "added": [{"model_id": "n", "reason": "new_model"}],
                "updated": [
                    {"model_id": "m", "changes": [{"field": "context_length", "old": None, "new": 4096}]},
                ],
            },
        )
        a.models = []
        for _ in range(3):
            self.assertEqual(self.ok("POST", path)["diff"], {})  # by hand nothing is disabled
        self.assertTrue(all(m["enabled"] for m in self.models("a").values()))
        a.status = 401
        failed = self.call("POST", path)
        self.assertEqual(failed.status, 502)
        self.assertIn(b"status 401", failed.body)
        self.assertNotIn(b"sk-a-secret", failed.body)
        results = self.ok("POST", "/api/providers/discover-all")["results"]
        self.assertEqual({r["provider_name"]: r["success"] for r in results}, {"a": False, "b": True})
        self.refused(404, "provider not found", "POST", "/api/providers/%s/discover" % NOBODY)
        self.refused(400, "invalid provider id", "POST", "/api/providers/x/discover")

    def test_scans_that_hang_leave_the_api_to_others(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def hangs(conn, seen, number):
            release.wait(30)
            return False

        self.start([hangs], enabled=False)
        path = "/api/providers/%s/discover" % self.provider("a")["id"]
        codes = []
        waiting = [threading.Thread(target=lambda: codes.append(self.call("POST", path).status)) for _ in range(6)]
        for thread in waiting:
            thread.start()
        wait_until(lambda: codes.count(503) == 3, "three of them are turned away")
        self.assertEqual(len(self.ok("GET", "/api/providers")), 1)
        release.set()
        for thread in waiting:
            thread.join()
        self.assertEqual(codes.count(503), 3)

    def test_a_provider_of_the_api_is_asked_and_a_fixed_list_is_not(self):
        self.start([])
        lister = Lister("m")
        url = self.upstream(lister).url
        spec = {"name": "new", "provider_type": "openai", "base_url": url, "api_key": "sk-new-secret-0001"}
        made = self.ok("POST", "/api/providers", spec, 201)
        wait_until(lambda: "m" in self.models("new"), "its models")
        path = "/api/providers/" + made["id"]
        self.assertFalse(self.ok("PUT", path, {"autodiscovery_enabled": False})["autodiscovery_enabled"])
        lister.models.append("late")
        self.ok("PUT", path, {"autodiscovery_enabled": True})
        wait_until(lambda: "late" in self.models("new"), "its newest model")
        asked = lister.listed
        self.ok("PUT", path, {"models": ["m"]})
        self.assertEqual(self.state("new")["state"], "configured")
        refused = self.call("POST", path + "/discover")
        self.assertIn(b"has a fixed list of models", refused.body)
        self.assertEqual(lister.listed, asked)

    def test_a_direct_request_for_an_unknown_model_is_sent_and_has_the_list_read(self):
        a = Lister("m")
        self.start([a])
        wait_until(lambda: self.state("a")["state"] == "fresh", "the first scan")
        a.models.append("new")
        self.assertEqual(self.ask("a/new").status, 200)
        wait_until(lambda: "new" in self.models("a"), "the new model")

    # Groups.

    def add(self, name, models, **fields):
        """A provider of the API with a list; its path."""
        url = self.upstream(Lister()).url
        spec = {"name": name, "provider_type": "openai", "base_url": url, "api_key": "sk-%s-secret-0001" % name}
        return "/api/providers/" + self.ok("POST", "/api/providers", dict(spec, models=models, **fields), 201)["id"]

    def fixed(self, *names):
        """Providers of the API with a list each; model ids by provider."""
        self.start([], enabled=False)
        for name, models in names:
            self.add(name, models)
        return {
            name: {model_id: m["id"] for model_id, m in self.models(name).items()} for name, _ in names
        }

    def test_sync_makes_and_deletes_auto_groups(self):
        ids = self.fixed(("pine", ["x/m", "alone"]), ("q", ["m"]))
        self.assertEqual(self.groups(), {})
        self.assertEqual(self.ok("POST", "/api/failover-groups/sync"), {"deleted_groups": None})
        self.assertEqual(list(self.groups()), ["m"])
        self.assertIsNotNone(self.ok("GET", "/api/failover-groups")["last_synced_at"])
        self.ok("PATCH", "/api/models/" + ids["q"]["m"], {"enabled": False})
        self.assertEqual(
            self.ok("POST", "/api/failover-groups/sync"),
            {
                "deleted_groups": [
                    {
                        "display_model": "m",
                        "reason": "only 1 enabled provider (need 2+ for failover)",
                        "provider_count": 1,
                        "provider_names": ["pine"],
                    }
                ]
            },
        )
        self.assertEqual(self.groups(), {})

    def test_a_fixed_list_has_its_auto_groups_at_once(self):
        self.start([])
        self.add("pine", ["z/m", "z/n"])
        self.assertEqual(self.groups(), {})
        other = self.add("q", ["m"])
        group = self.groups()["m"]
        self.assertTrue(group["auto_created"])
        self.assertEqual([e["provider_name"] for e in group["entries"]], ["q", "pine"])
        self.assertEqual(self.ask("hotel/m").headers["x-hotel-provider"], "q")
        self.ok("PUT", other, {"models": ["N"]})
        self.assertEqual(list(self.groups()), ["n"])
        # One that comes switched off counts when it is switched on.
        late = self.add("r", ["m"], enabled=False)
        self.add("s", ["m"], enabled=False)
        self.assertEqual(list(self.groups()), ["n"])
        self.ok("PUT", late, {"enabled": True})
        self.assertEqual([e["provider_name"] for e in self.groups()["m"]["entries"]], ["r", "pine"])

    def test_upper_and_lower_case_are_one_name_in_any_alphabet(self):
        self.fixed(("pine", ["лаб/МОДЕЛЬ-Ü"]), ("q", ["модель-ü"]))
        self.ok("POST", "/api/failover-groups/sync")
        self.assertEqual(list(self.groups()), ["модель-ü"])
        for name in ("hotel/Модель-ü", "hotel/модель-Ü"):
            self.assertEqual(self.ask(name).status, 200)
        wait_until(lambda: self.groups()["модель-ü"]["total_tokens"] == 4, "the tokens of both spellings")
        path = "/api/failover-groups/" + self.groups()["модель-ü"]["id"]
        self.assertTrue(self.ok("PUT", path, {"display_model": " МОДЕЛЬ-Ü "})["auto_created"])

    def test_without_discovery_groups_wait_for_a_sync(self):
        self.fixed(("pine", ["m"]), ("q", ["m"]))
        self.assertEqual(self.groups(), {})

    def test_a_renamed_auto_group_is_custom_and_stays(self):
        self.fixed(("pine", ["z/m"]), ("q", ["m"]))
        self.ok("POST", "/api/failover-groups/sync")
        made = self.groups()["m"]
        order = [e["model_uuid"] for e in reversed(made["entries"])]
        path = "/api/failover-groups/" + made["id"]
        renamed = self.ok("PUT", path, {"display_model": "Mine", "priority_order": order})
        self.assertEqual((renamed["display_model"], renamed["auto_created"]), ("mine", False))
        self.assertEqual(self.ok("POST", "/api/failover-groups/sync"), {"deleted_groups": None})
        groups = self.groups()
        self.assertEqual(sorted(groups), ["m", "mine"])
        self.assertEqual([e["model_uuid"] for e in groups["mine"]["entries"]], order)
        self.assertTrue(groups["m"]["auto_created"])
        self.assertEqual(self.ask("hotel/mine").headers["x-hotel-provider"], "pine")
        taken = "A failover group for 'm' already exists. Choose a different name."
        self.refused(409, taken, "PUT", path, {"display_model": "m"})

    def test_custom_groups_are_never_adopted_and_heal(self):
        ids = self.fixed(("pine", ["m"]), ("q", ["m"]), ("r", ["m"]))
        made = self.ok(
            "POST",
            "/api/failover-groups",
            {"display_model": "m", "entry_ids": [ids["r"]["m"], ids["q"]["m"]]},
            201,
        )
        self.assertEqual(self.ok("POST", "/api/failover-groups/sync"), {"deleted_groups": None})
        self.assertEqual(self.groups()["m"], made)
        # Switching a model off takes the group below two at once, and back.
        self.ok("PATCH", "/api/models/" + ids["q"]["m"], {"enabled": False})
        group = self.groups()["m"]
        self.assertEqual((group["group_enabled"], group["auto_disabled"]), (False, True))
        self.assertEqual(len(group["entries"]), 2)
        self.assertEqual(self.ask("hotel/m").status, 404)
        self.ok("PATCH", "/api/models/" + ids["q"]["m"], {"enabled": True})
        group = self.groups()["m"]
        self.assertEqual((group["group_enabled"], group["auto_disabled"]), (True, False))
        # So does switching a provider off, and deleting it takes the entry away.
        provider = "/api/providers/" + self.provider("q")["id"]
        self.ok("PUT", provider, {"enabled": False})
        self.assertFalse(self.groups()["m"]["group_enabled"])
        self.ok("PUT", provider, {"enabled": True})
        self.assertTrue(self.groups()["m"]["group_enabled"])
        self.ok("DELETE", provider, code=204)
        group = self.groups()["m"]
        self.assertEqual([e["provider_name"] for e in group["entries"]], ["r"])
        self.assertEqual((group["group_enabled"], group["auto_disabled"]), (False, True))

    def test_an_operators_switch_is_no_automatic_one(self):
        ids = self.fixed(("pine", ["a"]), ("q", ["b"]))
        one, two = ids["pine"]["a"], ids["q"]["b"]
        made = self.ok("POST", "/api/failover-groups", {"display_model": "g", "entry_ids": [one, two]}, 201)
        path = "/api/failover-groups/" + made["id"]
        self.assertFalse(self.ok("PUT", path, {"group_enabled": False})["auto_disabled"])
        self.ok("POST", "/api/failover-groups/sync")
        self.assertFalse(self.groups()["g"]["group_enabled"])
        self.ok("PUT", path, {"group_enabled": True})
        # The cascade of toggles: the group goes off with them, and is back when two are on.
        off = self.ok("PUT", path, {"entry_enabled": {two: False}, "group_enabled": False})
        self.assertEqual((off["group_enabled"], off["auto_disabled"]), (False, True))
        self.ok("POST", "/api/failover-groups/sync")
        self.assertFalse(self.groups()["g"]["group_enabled"])
        on = self.ok("PUT", path, {"entry_enabled": {two: True}})
        self.assertEqual((on["group_enabled"], on["auto_disabled"]), (True, False))

    # Models.

    def test_models_are_changed_within_their_ranges(self):
        ids = self.fixed(("pine", ["z-ai/m"]))
        path = "/api/models/" + ids["pine"]["z-ai/m"]
        patched = self.ok(
            "PATCH",
            path,
            {
                "display_name": "Ours",
                "context_length": 256,
                "max_output_tokens": 128000,
                "input_price_per_million": 0.5,
                "output_price_per_million": 1000,
            },
        )
        self.assertEqual(patched["display_name"], "Ours")
        self.assertEqual((patched["context_length"], patched["max_output_tokens"]), (256, 128000))
        self.assertEqual((patched["input_price_per_million"], patched["price_customized"]), (0.5, True))
        self.assertEqual(self.models("pine")["z-ai/m"], patched)
        for name, value in [
            ("display_name", ""),
            ("display_name", "x" * 129),
            ("context_length", 255),
            ("context_length", 2000001),
            ("max_output_tokens", 0),
            ("max_output_tokens", 128001),
            ("input_price_per_million", -0.1),
            ("output_price_per_million", 1000.5),
        ]:
            self.assertEqual(self.call("PATCH", path, {name: value}).status, 400, (name, value))
        self.assertEqual(self.models("pine")["z-ai/m"], patched)
        unknown = self.ok("PATCH", path, {"input_price_per_million": None, "output_price_per_million": None})
        self.assertEqual((unknown["input_price_per_million"], unknown["price_customized"]), (None, False))
        fields = (
            "id model_id name display_name provider_id provider_name provider_enabled capabilities context_length "
            "max_output_tokens input_price_per_million output_price_per_million input_price_per_million_cache_hit "
            "owned_by description params modality input_modalities output_modalities enabled created_at last_seen_at"
        )
        self.assertLessEqual(set(fields.split()), set(patched))

    def test_models_come_in_pages_and_go_in_bulk(self):
        ids = self.fixed(("pine", ["m%d" % i for i in range(7)]))["pine"]
        self.ok("PATCH", "/api/models/" + ids["m0"], {"enabled": False})
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ok("GET", "/api/models/cursor?limit=3&cursor=" + cursor)
            self.assertEqual((page["total"], page["enabled_total"], page["parked_total"]), (7, 6, 1))
            self.assertLessEqual(len(page["entries"]), 3)
            seen += [m["model_id"] for m in page["entries"]]
            cursor = page["next_cursor"]
        self.assertEqual(sorted(seen), sorted(ids))
        self.refused(400, "invalid cursor", "GET", "/api/models/cursor?cursor=nonsense")
        self.assertEqual(self.call("GET", "/api/models/cursor?limit=0").status, 400)
        answer_ = self.ok("POST", "/api/models/bulk-delete", {"ids": [ids["m1"], ids["m2"], NOBODY]})
        self.assertEqual(answer_, {"deleted": 2})
        self.assertEqual(len(self.models("pine")), 5)
        self.assertEqual(self.call("POST", "/api/models/bulk-delete", {"ids": []}).status, 400)
        self.refused(400, "invalid model id", "POST", "/api/models/bulk-delete", {"ids": ["x"]})


if __name__ == "__main__":
    unittest.main()
