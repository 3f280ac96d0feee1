// hotel-sim and hoteld as child processes of a test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// The virtual key of the client.
export const KEY = 'vk-client-0123456789abcdef';

const COMMON = `
server:
  require_virtual_key: true
  allow_http_providers: true
  allowed_provider_hosts: [127.0.0.1]
resilience: {circuit_breaker: {failure_threshold: 100}}
failover: {backoff: {initial: 1ms, max: 1ms}}
discovery: {enabled: false}
virtual_keys:
  - {name: client, key: ${KEY}}
`;

// The error a request ends with.
export async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the request was answered');
}

// Starts a program and waits for the one line that says where it listens.
async function start(path, args) {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.on('data', (data) => (log += data));
  const lines = createInterface({ input: child.stdout });
  const line = await new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code}\n${log}`)));
  });
  return { child, url: line.replace(/^.* listening on /, ''), log: () => log };
}

async function stop(program) {
  if (program.child.exitCode !== null) return program.child.exitCode;
  const ended = once(program.child, 'exit');
  program.child.kill('SIGTERM');
  return (await ended)[0];
}

// `yaml` makes the providers and groups of hoteld's configuration from the simulator's URL.
export async function startHotel(yaml) {
  const sim = await start(process.env.HOTEL_SIM, ['--listen', '127.0.0.1:0']);
  const folder = mkdtempSync(join(tmpdir(), 'hotel-clients-'));
  const config = join(folder, 'hotel.yaml');
  writeFileSync(config, COMMON + yaml(sim.url));
  const hoteld = await start(process.env.HOTELD, [
    '--config', config, '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'data'),
  ]);
  return {
    url: hoteld.url,
    log: hoteld.log,
    stats: async () => (await fetch(`${sim.url}/stats`)).json(),
    reset: async () => fetch(`${sim.url}/reset`, { method: 'POST' }),
    stop: async () => {
      const code = await stop(hoteld);
      await stop(sim);
      rmSync(folder, { recursive: true });
      return code;
    },
  };
}
