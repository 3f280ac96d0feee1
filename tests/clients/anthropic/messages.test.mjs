// The official Anthropic SDK against hoteld: Messages, from whoever of a group speaks them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';

import { KEY, refusal, startHotel } from './programs.mjs';

const PROMPT = { max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] };
const TOOLS = [
  {
    name: 'get_weather',
    description: 'The weather of a city',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

const yaml = (sim) => `
providers:
  chatty:
    type: openai
    base_url: ${sim}/chatty/v1
    api_key: ""
    models: [ok]
  first:
    type: anthropic
    base_url: ${sim}/first
    api_key: ""
    models: [status-503, status-529, status-400, status-413, reset, error-frame-529, tool-call, busy+retry-after-1]
  second:
    type: anthropic-messages
    base_url: ${sim}/second/v1
    api_key: sk-second
    models: [want-key-sk-second, status-529, busy+retry-after-1, tool-call, frames-500-gap-20ms, cut-after-2, error-frame-529-after-2, fail-first-2+status-503]
failover_groups:
  refused: [chatty/ok, first/status-503, second/want-key-sk-second]
  reset: [first/reset, second/want-key-sk-second]
  opener: [first/error-frame-529, second/want-key-sk-second]
  down: [first/status-503, second/status-529]
  busy: [first/busy+retry-after-1, second/busy+retry-after-1]
  tools: [first/status-503, second/tool-call]
  slow: [first/status-503, second/frames-500-gap-20ms]
  cut: [first/status-503, second/cut-after-2]
  late: [first/status-503, second/error-frame-529-after-2]
  chat: [chatty/ok]
`;

let hotel;
let client;

before(async () => {
  hotel = await startHotel(yaml);
  client = new Anthropic({ baseURL: hotel.url, apiKey: KEY, maxRetries: 0 });
});

after(async () => assert.equal(await hotel.stop(), 0, hotel.log()));

const ask = (model, options = {}, with_client = client) =>
  with_client.messages.create({ model, ...PROMPT, ...options });

const readAll = async (stream) => {
  let text = '';
  for await (const event of stream) {
    if (event.type === 'content_block_delta') text += event.delta.text ?? '';
  }
  return text;
};

for (const group of ['refused', 'reset']) {
  test(`a message is served by the second provider (${group})`, async () => {
    const { data, response } = await ask(`hotel/${group}`).withResponse();
    assert.equal(data.type, 'message');
    assert.deepEqual(data.content, [{ type: 'text', text: 'Hello from hotel-sim.' }]);
    assert.equal(data.stop_reason, 'end_turn');
    assert.equal(data.model, 'want-key-sk-second');
    assert.ok(data.usage.output_tokens > 0);
    assert.equal(response.headers.get('x-hotel-provider'), 'second');
    assert.equal(response.headers.get('x-hotel-attempts'), '2');
  });
}

for (const group of ['refused', 'reset', 'opener']) {
  test(`a stream is served by the second provider (${group})`, async () => {
    const { data, response } = await ask(`hotel/${group}`, { stream: true }).withResponse();
    assert.equal(await readAll(data), 'Hello from hotel-sim.');
    assert.equal(response.headers.get('x-hotel-provider'), 'second');
    assert.equal(response.headers.get('x-hotel-attempts'), '2');
  });
}

test('the stream helper puts a whole message together', async () => {
  const stream = client.messages.stream({ model: 'hotel/refused', ...PROMPT });
  const texts = [];
  stream.on('text', (text) => texts.push(text));
  const message = await stream.finalMessage();
  assert.equal(texts.join(''), 'Hello from hotel-sim.');
  assert.equal(message.content[0].text, 'Hello from hotel-sim.');
  assert.equal(message.stop_reason, 'end_turn');
  assert.equal(message.usage.output_tokens, 4);
});

test('a tool call arrives whole', async () => {
  const message = await ask('hotel/tools', { tools: TOOLS });
  assert.equal(message.stop_reason, 'tool_use');
  assert.equal(message.content[0].name, 'get_weather');
  assert.deepEqual(message.content[0].input, { city: 'Paris' });
});

test('a streamed tool call is put together from its pieces', async () => {
  const message = await client.messages
    .stream({ model: 'hotel/tools', ...PROMPT, tools: TOOLS })
    .finalMessage();
  assert.equal(message.stop_reason, 'tool_use');
  assert.equal(message.content[0].type, 'tool_use');
  assert.deepEqual(message.content[0].input, { city: 'Paris' });
});

const wrong = [
  ['a wrong key', 'hotel/refused', 'AuthenticationError', 401, 'authentication_error', { apiKey: 'vk-wrong' }],
  ['an unknown group', 'hotel/nowhere', 'NotFoundError', 404, 'not_found_error'],
  ['a name without a form', 'refused', 'BadRequestError', 400, 'invalid_request_error'],
  ['a group of providers that speak chat alone', 'hotel/chat', 'BadRequestError', 400, 'invalid_request_error'],
  ["a provider's refusal of the payload", 'first/status-400', 'BadRequestError', 400, 'invalid_request_error'],
  ['all providers failing', 'hotel/down', 'InternalServerError', 529, 'overloaded_error'],
  ['all providers busy', 'hotel/busy', 'RateLimitError', 429, 'rate_limit_error'],
];

for (const [what, model, name, status, type, options] of wrong) {
  test(`${what} is a ${name}`, async () => {
    const asking = new Anthropic({ baseURL: hotel.url, apiKey: KEY, maxRetries: 0, ...options });
    for (const stream of [false, true]) {
      const error = await refusal(ask(model, { stream }, asking));
      assert.ok(error instanceof Anthropic[name], `${error?.constructor.name}: ${error}`);
      assert.equal(error.status, status);
      assert.equal(error.error.type, 'error');
      assert.equal(error.error.error.type, type);
    }
  });
}

test('the stable code stands beside the type', async () => {
  const error = await refusal(ask('hotel/chat'));
  assert.equal(error.error.error.code, 'endpoint_not_supported');
});

test('busy providers say when to come back', async () => {
  const error = await refusal(ask('hotel/busy'));
  const seconds = Number(error.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 60, `retry-after: ${seconds}`);
});

test("the SDK's own retry gets the answer", async () => {
  const asking = new Anthropic({ baseURL: hotel.url, apiKey: KEY, maxRetries: 2 });
  const model = 'second/fail-first-2+status-503';
  assert.equal((await refusal(ask(model))).status, 503);
  await hotel.reset();
  const message = await ask(model, {}, asking);
  assert.equal(message.content[0].text, 'Hello from hotel-sim.');
});

test('nobody listening is an APIConnectionError', async () => {
  const asking = new Anthropic({ baseURL: 'http://127.0.0.1:1', apiKey: KEY, maxRetries: 0 });
  const error = await refusal(ask('hotel/refused', {}, asking));
  assert.ok(error instanceof Anthropic.APIConnectionError, String(error));
});

test('aborting a stream closes the upstream within a second', async () => {
  const before = (await hotel.stats()).streams_cut_by_client;
  const stream = await ask('hotel/slow', { stream: true });
  let frames = 0;
  for await (const event of stream) {
    if (event.type === 'content_block_delta' && ++frames === 3) stream.controller.abort();
  }
  assert.equal(frames, 3);
  const limit = Date.now() + 20000;
  while ((await hotel.stats()).streams_cut_by_client === before) {
    assert.ok(Date.now() < limit, 'the upstream is still open');
  }
});

test('a stream that breaks off is an APIError and not a short answer', async () => {
  const stream = await ask('hotel/cut', { stream: true });
  const error = await refusal(readAll(stream));
  assert.ok(error instanceof Anthropic.APIError, String(error));
  assert.equal(error.error.error.type, 'api_error');
  assert.equal(error.error.error.code, 'stream_incomplete');
});

test("a provider's error behind output is an APIError", async () => {
  const error = await refusal(readAll(await ask('hotel/late', { stream: true })));
  assert.ok(error instanceof Anthropic.APIError, String(error));
  assert.equal(error.error.error.type, 'overloaded_error');
});
