// Drives headless Firefox by its own protocol, Marionette: Debian has no WebDriver for it.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import net from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const freePort = () => new Promise((resolve) => {
  const server = net.createServer().listen(0, '127.0.0.1', () => {
    const {port} = server.address();
    server.close(() => resolve(port));
  });
});

async function connected(port) {
  for (let attempt = 0; attempt < 120; ++attempt) {
    try {
      return await new Promise((resolve, reject) => {
        const socket = net.connect(port, '127.0.0.1', () => resolve(socket));
        socket.on('error', reject);
      });
    } catch {
      await sleep(250);
    }
  }
  throw new Error('Firefox does not answer');
}

// Messages are "LENGTH:JSON".
function readMessages(socket, take) {
  let rest = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const colon = rest.indexOf(':');
      const end = colon + 1 + Number(rest.subarray(0, Math.max(colon, 0)).toString());
      if (colon < 0 || rest.length < end) {
        return;
      }
      take(JSON.parse(rest.subarray(colon + 1, end).toString()));
      rest = rest.subarray(end);
    }
  });
}

// Starts a browser. Returns load(address), js(expression), waitFor(expression) and stop().
export async function startFirefox(program) {
  const profile = mkdtempSync(join(tmpdir(), 'firefox-'));
  const port = await freePort();
  writeFileSync(join(profile, 'user.js'), `user_pref("marionette.port", ${port});\n`);
  const process = spawn(program, ['--headless', '--marionette', '--no-remote', '--profile', profile, 'about:blank'],
                        {env: {...globalThis.process.env, HOME: profile}, stdio: 'ignore'});
  const socket = await connected(port);
  const waiting = new Map();
  readMessages(socket, (message) => {
    if (Array.isArray(message)) {
      const [, id, error, result] = message;
      waiting.get(id)?.(error, result);
    }
  });
  let last = 0;
  const command = (name, parameters = {}) => new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, (error, result) => error ? reject(new Error(`${name}: ${error.message}`)) : resolve(result));
    const text = JSON.stringify([0, last, name, parameters]);
    socket.write(`${Buffer.byteLength(text)}:${text}`);
  });
  await command('WebDriver:NewSession', {capabilities: {alwaysMatch: {}}});
  const js = async (expression) =>
    (await command('WebDriver:ExecuteScript', {script: `return (${expression})`, args: []})).value;
  return {
    js,
    load: (url) => command('WebDriver:Navigate', {url}),
    waitFor: async (expression) => {
      for (let attempt = 0; attempt < 300; ++attempt) {
        if (await js(`Boolean(${expression})`)) {
          return;
        }
        await sleep(100);
      }
      throw new Error(`timed out waiting for: ${expression}`);
    },
    stop: async () => {
      socket.end();
      const ended = new Promise((resolve) => process.on('exit', resolve));
      process.kill();
      await ended;
      rmSync(profile, {recursive: true, force: true});
    },
  };
}
