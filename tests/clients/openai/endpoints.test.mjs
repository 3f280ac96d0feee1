// The official OpenAI SDK on the other endpoints: Responses, embeddings, images, sound, tool calls.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI, { toFile } from 'openai';

import { KEY, refusal, startHotel } from './programs.mjs';

const MESSAGES = [{ role: 'user', content: 'Hello' }];
const TOOLS = [
  { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } },
];

const yaml = (sim) => `
providers:
  first:
    type: openai
    base_url: ${sim}/first/v1
    api_key: ""
    models: [status-503, status-500, status-400, reset, ok, fail-first-2+status-503]
  second:
    type: openai
    base_url: ${sim}/second/v1
    api_key: sk-second
    models: [want-key-sk-second, tool-call, echo, status-500, frames-500-gap-20ms, cut-after-2, error-frame-503-after-2, busy+retry-after-1]
  claude:
    type: anthropic
    base_url: ${sim}/claude
    api_key: ""
    models: [ok]
failover_groups:
  refused: [first/status-503, second/want-key-sk-second]
  tools: [first/status-503, second/tool-call]
  echo: [first/status-503, second/echo]
  down: [first/status-503, second/status-500]
  slow: [first/status-503, second/frames-500-gap-20ms]
  cut: [first/status-503, second/cut-after-2]
  late: [first/status-503, second/error-frame-503-after-2]
  busy: [second/busy+retry-after-1]
  claude: [claude/ok]
virtual_models:
  - {source: embedder, strategy: failover, targets: [{model: first/ok}]}
`;

let hotel;
let client;

before(async () => {
  hotel = await startHotel(yaml);
  client = new OpenAI({ baseURL: `${hotel.url}/v1`, apiKey: KEY, maxRetries: 0 });
});

after(async () => assert.equal(await hotel.stop(), 0, hotel.log()));

const respond = (model, options = {}, with_client = client) =>
  with_client.responses.create({ model, input: 'Hello', ...options });

const readAll = async (stream) => {
  let text = '';
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  return text;
};

test('a chat tool call arrives whole', async () => {
  const answer = await client.chat.completions.create({ model: 'hotel/tools', messages: MESSAGES, tools: TOOLS });
  assert.equal(answer.choices[0].finish_reason, 'tool_calls');
  const [call] = answer.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'get_weather');
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' });
});

test('a streamed chat tool call is put together from its pieces', async () => {
  const stream = client.chat.completions.stream({ model: 'hotel/tools', messages: MESSAGES, tools: TOOLS });
  const answer = await stream.finalChatCompletion();
  const [call] = answer.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'get_weather');
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' });
});

test('usage comes in a chat stream when it is asked for, and only then', async () => {
  for (const include_usage of [true, false, undefined]) {
    const options = include_usage === undefined ? {} : { stream_options: { include_usage } };
    const stream = await client.chat.completions.create({
      model: 'hotel/refused', messages: MESSAGES, stream: true, ...options,
    });
    let usages = 0;
    for await (const chunk of stream) usages += chunk.usage ? 1 : 0;
    assert.equal(usages, include_usage ? 1 : 0);
  }
});

test('a response is served by the second provider', async () => {
  const { data, response } = await respond('hotel/refused').withResponse();
  assert.equal(data.output_text, 'Hello from hotel-sim.');
  assert.equal(data.status, 'completed');
  assert.equal(response.headers.get('x-hotel-provider'), 'second');
  assert.equal(response.headers.get('x-hotel-attempts'), '2');
});

test('a response stream is served by the second provider', async () => {
  const { data, response } = await respond('hotel/refused', { stream: true }).withResponse();
  let text = '';
  let last;
  for await (const event of data) {
    if (event.type === 'response.output_text.delta') text += event.delta;
    last = event;
  }
  assert.equal(text, 'Hello from hotel-sim.');
  assert.equal(last.type, 'response.completed');
  assert.equal(last.response.output[0].content[0].text, text);
  assert.equal(response.headers.get('x-hotel-provider'), 'second');
});

test('a function call of a response, whole and streamed', async () => {
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} }, strict: false }];
  const answer = await respond('hotel/tools', { tools });
  assert.deepEqual(JSON.parse(answer.output[0].arguments), { city: 'Paris' });
  const streamed = await client.responses.stream({ model: 'hotel/tools', input: 'Hello', tools }).finalResponse();
  assert.equal(streamed.output[0].name, 'get_weather');
  assert.deepEqual(JSON.parse(streamed.output[0].arguments), { city: 'Paris' });
});

test('embeddings in either coding are the same numbers', async () => {
  const want = [[0.25, -0.5, 1, 0], [0.25, -0.5, 1, 1]];
  for (const encoding_format of [undefined, 'float']) {
    const answer = await client.embeddings.create({ model: 'embedder', input: ['a', 'b'], encoding_format });
    assert.deepEqual(answer.data.map((row) => Array.from(row.embedding)), want);
  }
});

test('sound is bytes', async () => {
  const answer = await client.audio.speech.create({ model: 'hotel/refused', voice: 'alloy', input: 'Hello' });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  assert.equal(answer.headers.get('content-type'), 'audio/mpeg');
  assert.deepEqual([...bytes], [...Array(64).keys()]);
});

test('a file is transcribed by the second provider', async () => {
  const file = await toFile(new Uint8Array(300000).fill(13), 'a.wav');
  const answer = await client.audio.transcriptions.create({ model: 'hotel/echo', file });
  const seen = JSON.parse(answer.text);
  assert.equal(seen.path, '/second/v1/audio/transcriptions');
  assert.equal(seen.model, 'echo');
  assert.equal(seen.fields.find((field) => field.name === 'file').bytes, 300000);
});

test('images are made and edited', async () => {
  const made = await client.images.generate({ model: 'hotel/refused', prompt: 'a hotel' });
  assert.equal(made.data[0].b64_json, 'Hello from hotel-sim.');
  const image = await toFile(new Uint8Array(1000), 'a.png', { type: 'image/png' });
  const edited = await client.images.edit({ model: 'hotel/refused', prompt: 'a hotel', image });
  assert.equal(edited.data[0].b64_json, 'Hello from hotel-sim.');
});

const wrong = [
  ['an unknown group', 'hotel/nowhere', 'NotFoundError', 404, 'model_not_found'],
  ['a name without a form', 'refused', 'BadRequestError', 400, 'invalid_model_format'],
  ['a group that speaks another dialect', 'hotel/claude', 'BadRequestError', 400, 'endpoint_not_supported'],
  ["a provider's refusal of the payload", 'first/status-400', 'BadRequestError', 400, null],
  ['all providers failing', 'hotel/down', 'InternalServerError', 500, 'provider_error'],
  ['a busy provider', 'hotel/busy', 'RateLimitError', 429, 'provider_saturated'],
];

for (const [what, model, name, status, code] of wrong) {
  test(`${what} is a ${name} on Responses`, async () => {
    for (const stream of [false, true]) {
      const error = await refusal(respond(model, { stream }));
      assert.ok(error instanceof OpenAI[name], `${error?.constructor.name}: ${error}`);
      assert.equal(error.status, status);
      assert.equal(error.code, code);
    }
  });
}

test("the SDK's own retry gets the answer", async () => {
  const model = 'first/fail-first-2+status-503';
  assert.equal((await refusal(respond(model))).status, 503);
  await hotel.reset();
  const retrying = new OpenAI({ baseURL: `${hotel.url}/v1`, apiKey: KEY, maxRetries: 2 });
  assert.equal((await respond(model, {}, retrying)).output_text, 'Hello from hotel-sim.');
});

test('nobody listening is an APIConnectionError', async () => {
  const asking = new OpenAI({ baseURL: 'http://127.0.0.1:1/v1', apiKey: KEY, maxRetries: 0 });
  assert.ok((await refusal(respond('hotel/refused', {}, asking))) instanceof OpenAI.APIConnectionError);
});

test('aborting a response stream closes the upstream within a second', async () => {
  const before = (await hotel.stats()).streams_cut_by_client;
  const stream = await respond('hotel/slow', { stream: true });
  let frames = 0;
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta' && ++frames === 3) stream.controller.abort();
  }
  const limit = Date.now() + 20000;
  while ((await hotel.stats()).streams_cut_by_client === before) {
    assert.ok(Date.now() < limit, 'the upstream is still open');
  }
});

for (const group of ['cut', 'late']) {
  test(`a response stream that breaks off does not look whole (${group})`, async () => {
    const stream = await respond(`hotel/${group}`, { stream: true });
    const types = [];
    let thrown;
    try {
      for await (const event of stream) types.push(event.type);
    } catch (error) {
      thrown = error;
    }
    assert.ok(!types.includes('response.completed'));
    // The event is either thrown or handed out, as the SDK sees fit; it is never lost.
    assert.ok(thrown instanceof OpenAI.APIError || types.at(-1) === 'error', `${thrown} ${types}`);
  });
}
