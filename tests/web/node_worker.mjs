// Runs the script of a page's workers in a process of Node.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import vm from 'node:vm';

const here = dirname(fileURLToPath(import.meta.url));
export const pageFiles = join(here, '../../src/show/page/live/file');

// Runs headlight.js of the folder `engine` and scripts of the page. Messages come later, as those of
// a real worker do.
export function startWorker(engine, scripts = ['worker.js']) {
  const listeners = [];
  // Node takes up to 1000 messages of a port before it looks at timers; browsers take turns.
  globalThis.MessageChannel = class {
    port1 = {};
    port2 = {postMessage: () => setImmediate(() => this.port1.onmessage())};
  };
  globalThis.require = createRequire(import.meta.url);
  globalThis.__dirname = here;
  globalThis.postMessage = (data) => setTimeout(() => listeners.forEach((call) => call({data})));
  vm.runInThisContext([join(engine, 'headlight.js'), ...scripts.map((script) => join(pageFiles, script))]
    .map((file) => readFileSync(file, 'utf8')).join('\n'));
  return {postMessage: (data) => setTimeout(() => globalThis.onmessage({data})),
          addEventListener: (kind, call) => kind === 'message' && listeners.push(call)};
}

// Sends a message and waits for the worker's reply.
export function sent(worker, message) {
  return new Promise((resolve, reject) => {
    const listener = ({data}) => data.problem === undefined ? resolve() : reject(new Error(data.problem));
    worker.addEventListener('message', listener);
    worker.postMessage(message);
  });
}

// Returns the module of a page's script.
export const moduleOf = (script) =>
  import(`data:text/javascript,${encodeURIComponent(readFileSync(join(pageFiles, script), 'utf8'))}`);

// The program that the worker unpacks, in base64.
export const programOf = (engine) => readFileSync(join(engine, 'headlight.wasm.gz')).toString('base64');
