// The official OpenAI SDK against hoteld: what a program that never heard of hotel sees.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { KEY, refusal, startHotel } from './programs.mjs';

const MESSAGES = [{ role: 'user', content: 'Hello' }];

const yaml = (sim) => `
providers:
  first:
    type: openai
    base_url: ${sim}/first/v1
    api_key: ""
    models: [status-503, status-500, status-402, reset]
  second:
    type: openai
    base_url: ${sim}/second/v1
    api_key: sk-second
    models: [want-key-sk-second, status-502, status-402, frames-500-gap-20ms, cut-after-2]
failover_groups:
  refused: [first/status-503, second/want-key-sk-second]
  reset: [first/reset, second/want-key-sk-second]
  down: [first/status-500, second/status-502]
  spent: [first/status-402, second/status-402]
  slow: [first/status-503, second/frames-500-gap-20ms]
  cut: [first/status-503, second/cut-after-2]
`;

let hotel;
let client;

before(async () => {
  hotel = await startHotel(yaml);
  client = new OpenAI({ baseURL: `${hotel.url}/v1`, apiKey: KEY, maxRetries: 0 });
});

after(async () => assert.equal(await hotel.stop(), 0, hotel.log()));

const ask = (model, options = {}, with_client = client) =>
  with_client.chat.completions.create({ model, messages: MESSAGES, ...options });

for (const group of ['refused', 'reset']) {
  test(`a chat completion is served by the second provider (${group})`, async () => {
    const { data, response } = await ask(`hotel/${group}`).withResponse();
    assert.equal(data.choices[0].message.content, 'Hello from hotel-sim.');
    assert.equal(data.choices[0].finish_reason, 'stop');
    assert.equal(data.model, 'want-key-sk-second');
    assert.equal(response.headers.get('x-hotel-provider'), 'second');
    assert.equal(response.headers.get('x-hotel-model'), 'want-key-sk-second');
    assert.equal(response.headers.get('x-hotel-attempts'), '2');
    assert.ok(response.headers.get('x-hotel-request-id'));
  });

  test(`a stream is served by the second provider (${group})`, async () => {
    const { data, response } = await ask(`hotel/${group}`, { stream: true }).withResponse();
    let text = '';
    let finish = null;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? '';
      finish = chunk.choices[0]?.finish_reason ?? finish;
    }
    assert.equal(text, 'Hello from hotel-sim.');
    assert.equal(finish, 'stop');
    assert.equal(response.headers.get('x-hotel-attempts'), '2');
  });
}

test('models.list names providers and groups', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  for (const id of ['first/status-503', 'second/want-key-sk-second', 'hotel/refused']) {
    assert.ok(ids.includes(id), `${id} in ${ids}`);
  }
});

test('a wrong key is an AuthenticationError', async () => {
  const stranger = new OpenAI({ baseURL: `${hotel.url}/v1`, apiKey: 'vk-wrong', maxRetries: 0 });
  const error = await refusal(ask('hotel/refused', {}, stranger));
  assert.ok(error instanceof OpenAI.AuthenticationError, String(error));
  assert.equal(error.status, 401);
  assert.equal(error.type, 'authentication_error');
});

test('an unknown group is a NotFoundError', async () => {
  const error = await refusal(ask('hotel/nowhere'));
  assert.ok(error instanceof OpenAI.NotFoundError, String(error));
  assert.equal(error.code, 'model_not_found');
  assert.match(error.message, /model not found: hotel\/nowhere/);
});

test('a name without a form is a BadRequestError', async () => {
  const error = await refusal(ask('refused'));
  assert.ok(error instanceof OpenAI.BadRequestError, String(error));
  assert.match(error.message, /hotel\/refused/);
});

test('all providers failing is an InternalServerError', async () => {
  const error = await refusal(ask('hotel/down'));
  assert.ok(error instanceof OpenAI.InternalServerError, String(error));
  assert.equal(error.status, 502);
  assert.equal(error.type, 'server_error');
  // Two candidates, and the last one once more.
  assert.equal(error.headers.get('x-hotel-attempts'), '3');
});

test('all circuits open is a RateLimitError that says when to come back', async () => {
  const first = await refusal(ask('hotel/spent'));
  assert.equal(first.status, 402);
  const error = await refusal(ask('hotel/spent'));
  assert.ok(error instanceof OpenAI.RateLimitError, String(error));
  const seconds = Number(error.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 60, `retry-after: ${seconds}`);
  assert.match(error.message, /no available provider for hotel\/spent/);
});

test('aborting a stream closes the upstream within a second', async () => {
  const before = (await hotel.stats()).streams_cut_by_client;
  const stream = await ask('hotel/slow', { stream: true });
  let frames = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content && ++frames === 3) stream.controller.abort();
  }
  assert.equal(frames, 3);
  const limit = Date.now() + 20000;
  while ((await hotel.stats()).streams_cut_by_client === before) {
    assert.ok(Date.now() < limit, 'the upstream is still open');
  }
});

test('a stream that breaks off is an APIError and not a short answer', async () => {
  const stream = await ask('hotel/cut', { stream: true });
  let text = '';
  const error = await refusal(
    (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    })(),
  );
  assert.ok(error instanceof OpenAI.APIError, String(error));
  assert.equal(error.code, 'stream_incomplete');
  assert.equal(text, 'Hello from');
});
