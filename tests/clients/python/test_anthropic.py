"""The official Anthropic SDK for Python against hoteld."""

import unittest

import anthropic
from programs import KEY, HotelTestCase

PROMPT = {"max_tokens": 64, "messages": [{"role": "user", "content": "Hello"}]}
TEXT = "Hello from hotel-sim."
TOOLS = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]


class Messages(HotelTestCase):
    kind = "anthropic"
    other = "openai"

    def setUp(self):
        self.client = self.sdk()

    def sdk(self, retries=0, key=KEY, url=None):
        client = anthropic.Anthropic(base_url=url or self.hoteld.url, api_key=key, max_retries=retries, timeout=60)
        self.addCleanup(client.close)
        return client

    def ask(self, model, client=None, **options):
        return (client or self.client).messages.create(model=model, **PROMPT, **options)

    def test_a_message_is_served_by_the_second_provider(self):
        for group in ("refused", "reset"):
            raw = self.client.messages.with_raw_response.create(model="hotel/" + group, **PROMPT)
            self.assertEqual(raw.headers["x-hotel-provider"], "second")
            answer = raw.parse()
            self.assertEqual((answer.content[0].text, answer.stop_reason), (TEXT, "end_turn"))

    def test_a_stream_is_served_by_the_second_provider(self):
        for group in ("refused", "reset"):
            with self.client.messages.stream(model="hotel/" + group, **PROMPT) as stream:
                self.assertEqual("".join(stream.text_stream), TEXT)
                self.assertEqual(stream.get_final_message().usage.output_tokens, 4)

    def test_a_tool_call_whole_and_streamed(self):
        answer = self.ask("hotel/tools", tools=TOOLS)
        self.assertEqual((answer.stop_reason, answer.content[0].input), ("tool_use", {"city": "Paris"}))
        with self.client.messages.stream(model="hotel/tools", tools=TOOLS, **PROMPT) as stream:
            block = stream.get_final_message().content[0]
        self.assertEqual((block.name, block.input), ("get_weather", {"city": "Paris"}))

    def test_the_bearer_form_of_the_key_works_too(self):
        client = anthropic.Anthropic(base_url=self.hoteld.url, auth_token=KEY, api_key=None, max_retries=0)
        self.addCleanup(client.close)
        self.assertEqual(self.ask("hotel/refused", client).content[0].text, TEXT)

    def test_errors_are_of_their_class(self):
        stranger = self.sdk(key="vk-wrong")
        for model, client, kind, word in (
            ("hotel/refused", stranger, anthropic.AuthenticationError, "authentication_error"),
            ("hotel/nowhere", None, anthropic.NotFoundError, "not_found_error"),
            ("refused", None, anthropic.BadRequestError, "invalid_request_error"),
            ("hotel/foreign", None, anthropic.BadRequestError, "invalid_request_error"),
            ("first/status-400", None, anthropic.BadRequestError, "invalid_request_error"),
            ("hotel/down", None, anthropic.InternalServerError, "api_error"),
            ("hotel/busy", None, anthropic.RateLimitError, "rate_limit_error"),
        ):
            for stream in (False, True):
                with self.subTest(model=model, stream=stream), self.assertRaises(kind) as raised:
                    self.ask(model, client, stream=stream)
                self.assertEqual(raised.exception.body["type"], "error")
                self.assertEqual(raised.exception.body["error"]["type"], word)

    def test_nobody_listening_is_a_connection_error(self):
        with self.assertRaises(anthropic.APIConnectionError):
            self.ask("hotel/refused", self.sdk(url="http://127.0.0.1:1"))

    def test_the_sdks_own_retries_get_the_answer(self):
        model = "first/fail-first-2+status-503"
        self.reset_sim()
        with self.assertRaises(anthropic.InternalServerError):
            self.ask(model)
        self.reset_sim()
        self.assertEqual(self.ask(model, self.sdk(retries=2)).content[0].text, TEXT)

    def test_leaving_a_stream_closes_the_upstream(self):
        before = self.stats()["streams_cut_by_client"]
        with self.client.messages.stream(model="hotel/slow", **PROMPT) as stream:
            for _, text in zip(range(3), stream.text_stream):
                self.assertTrue(text)
        self.wait_until_cut(before)

    def test_a_stream_that_breaks_off_is_an_error(self):
        for group, word in (("cut", "api_error"), ("late", "overloaded_error")):
            text = ""
            with self.subTest(group=group), self.assertRaises(anthropic.APIStatusError) as raised:
                with self.client.messages.stream(model="hotel/" + group, **PROMPT) as stream:
                    for piece in stream.text_stream:
                        text += piece
            self.assertEqual(text, "Hello from")
            self.assertEqual(raised.exception.body["error"]["type"], word)

    def test_tokens_are_not_counted_here(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.count_tokens(model="hotel/refused", messages=PROMPT["messages"])


if __name__ == "__main__":
    unittest.main()
