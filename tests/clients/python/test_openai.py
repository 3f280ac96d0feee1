"""The official OpenAI SDK for Python against hoteld."""

import json
import unittest

import openai
from programs import KEY, HotelTestCase

MESSAGES = [{"role": "user", "content": "Hello"}]
TEXT = "Hello from hotel-sim."
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}]


class OpenAi(HotelTestCase):
    def setUp(self):
        self.client = self.sdk()

    def sdk(self, retries=0, key=KEY, url=None):
        client = openai.OpenAI(base_url=url or self.hoteld.url + "/v1", api_key=key, max_retries=retries, timeout=60)
        self.addCleanup(client.close)
        return client

    def chat(self, model, client=None, **options):
        return (client or self.client).chat.completions.create(model=model, messages=MESSAGES, **options)

    def test_a_completion_is_served_by_the_second_provider(self):
        for group in ("refused", "reset"):
            raw = self.client.chat.completions.with_raw_response.create(model="hotel/" + group, messages=MESSAGES)
            self.assertEqual(raw.headers["x-hotel-provider"], "second")
            answer = raw.parse()
            self.assertEqual(answer.choices[0].message.content, TEXT)
            self.assertEqual(answer.choices[0].finish_reason, "stop")

    def test_a_stream_is_served_by_the_second_provider(self):
        for group in ("refused", "reset"):
            chunks = list(self.chat("hotel/" + group, stream=True))
            self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks), TEXT)
            self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")

    def test_usage_comes_when_it_is_asked_for_and_only_then(self):
        asked = list(self.chat("hotel/refused", stream=True, stream_options={"include_usage": True}))
        self.assertEqual([c.usage.completion_tokens for c in asked if c.usage], [4])
        self.assertFalse([c for c in self.chat("hotel/refused", stream=True) if c.usage or not c.choices])

    def test_a_tool_call_whole_and_streamed(self):
        call = self.chat("hotel/tools", tools=TOOLS).choices[0].message.tool_calls[0]
        self.assertEqual((call.function.name, json.loads(call.function.arguments)), ("get_weather", {"city": "Paris"}))
        name, arguments = "", ""
        for chunk in self.chat("hotel/tools", tools=TOOLS, stream=True):
            for delta in chunk.choices[0].delta.tool_calls or []:
                name += delta.function.name or ""
                arguments += delta.function.arguments or ""
        self.assertEqual((name, json.loads(arguments)), ("get_weather", {"city": "Paris"}))

    def test_a_response_whole_and_streamed(self):
        self.assertEqual(self.client.responses.create(model="hotel/refused", input="Hello").output_text, TEXT)
        events = list(self.client.responses.create(model="hotel/refused", input="Hello", stream=True))
        self.assertEqual("".join(e.delta for e in events if e.type == "response.output_text.delta"), TEXT)
        self.assertEqual(events[-1].type, "response.completed")
        self.assertEqual(events[-1].response.output_text, TEXT)

    def test_embeddings_in_either_coding(self):
        want = [[0.25, -0.5, 1.0, 0.0], [0.25, -0.5, 1.0, 1.0]]
        for options in ({}, {"encoding_format": "float"}):
            answer = self.client.embeddings.create(model="first/ok", input=["a", "b"], **options)
            self.assertEqual([list(row.embedding) for row in answer.data], want)

    def test_embeddings_fail_over_within_one_model(self):
        raw = self.client.embeddings.with_raw_response.create(model="hotel/embed", input="a", encoding_format="float")
        self.assertEqual((raw.headers["x-hotel-provider"], raw.headers["x-hotel-attempts"]), ("second", "3"))

    def test_sound_is_bytes_and_files_arrive_whole(self):
        sound = self.client.audio.speech.create(model="hotel/refused", voice="alloy", input="Hello")
        self.assertEqual(sound.read(), bytes(range(64)))
        file = ("a.wav", bytes(300000))
        answer = self.client.audio.transcriptions.create(model="hotel/echo", file=file)
        seen = json.loads(answer.text)
        self.assertEqual((seen["path"], seen["model"]), ("/second/v1/audio/transcriptions", "echo"))
        self.assertEqual([f["bytes"] for f in seen["fields"] if f["name"] == "file"], [300000])

    def test_models_are_listed(self):
        self.assertIn("hotel/refused", [model.id for model in self.client.models.list()])

    def test_errors_are_of_their_class(self):
        stranger = self.sdk(key="vk-wrong")
        for model, client, kind, code in (
            ("hotel/refused", stranger, openai.AuthenticationError, "invalid_virtual_key"),
            ("hotel/nowhere", None, openai.NotFoundError, "model_not_found"),
            ("refused", None, openai.BadRequestError, "invalid_model_format"),
            ("hotel/foreign", None, openai.BadRequestError, "endpoint_not_supported"),
            ("first/status-400", None, openai.BadRequestError, None),
            ("first/status-422", None, openai.UnprocessableEntityError, None),
            ("hotel/down", None, openai.InternalServerError, "provider_error"),
            ("hotel/busy", None, openai.RateLimitError, "provider_saturated"),
        ):
            for stream in (False, True):
                with self.subTest(model=model, stream=stream), self.assertRaises(kind) as raised:
                    self.chat(model, client, stream=stream)
                self.assertEqual(raised.exception.code, code)

    def test_nobody_listening_is_a_connection_error(self):
        with self.assertRaises(openai.APIConnectionError):
            self.chat("hotel/refused", self.sdk(url="http://127.0.0.1:1/v1"))

    def test_the_sdks_own_retries_get_the_answer(self):
        model = "first/fail-first-2+status-503"
        self.reset_sim()
        with self.assertRaises(openai.InternalServerError):
            self.chat(model)
        self.reset_sim()
        self.assertEqual(self.chat(model, self.sdk(retries=2)).choices[0].message.content, TEXT)

    def test_leaving_a_stream_closes_the_upstream(self):
        before = self.stats()["streams_cut_by_client"]
        with self.chat("hotel/slow", stream=True) as stream:
            for _, chunk in zip(range(4), stream):
                self.assertTrue(chunk.choices)
        self.wait_until_cut(before)

    def test_a_stream_that_breaks_off_is_an_error(self):
        for group in ("cut", "late"):
            text = ""
            with self.subTest(group=group), self.assertRaises(openai.APIError) as raised:
                for chunk in self.chat("hotel/" + group, stream=True):
                    text += chunk.choices[0].delta.content or ""
            self.assertEqual(text, "Hello from")
            if group == "cut":
                self.assertEqual(raised.exception.code, "stream_incomplete")

    def test_a_response_stream_that_breaks_off_does_not_look_whole(self):
        for group in ("cut", "late"):
            with self.subTest(group=group):
                types = []
                try:
                    for event in self.client.responses.create(model="hotel/" + group, input="x", stream=True):
                        types.append(event.type)
                except openai.APIError:
                    types.append("error")
                self.assertEqual(types[-1], "error")
                self.assertNotIn("response.completed", types)


if __name__ == "__main__":
    unittest.main()
