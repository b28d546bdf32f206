// The parts of the page's file: settings, program, model.
import {byId} from '../../dom.js';

const contentOf = (node) => {
  const text = node.textContent;
  node.textContent = '';  // the text is large: only its copy is needed
  node.remove();
  return text;
};

export const readSettings = () => JSON.parse(contentOf(byId('page-settings')));

// Resolves when the browser has read the whole file. Rejects if its end is missing.
export async function wholeFile() {
  if (document.readyState === 'loading') {
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve));
  }
  if (byId('end-of-file') === null) {
    throw new Error('file_cut');
  }
}

// Sends the parts of the model that the page embeds.
async function sendEmbedded(send, textOf, tell) {
  const parts = [...document.querySelectorAll('.page-model')];
  for (const [i, part] of parts.entries()) {
    await send({part: textOf(part)});
    tell((i + 1) / parts.length);
  }
}

// Sends the model from the file beside the page.
async function sendFetched({file, version, bytes}, send, tell) {
  if (location.protocol === 'file:') {
    throw new Error('needs_server');
  }
  const lost = () => { throw new Error('no_model'); };
  const answer = await fetch(`${encodeURIComponent(file)}?${version}`).catch(lost);
  const pieces = answer.ok ? answer.body.getReader() : lost();
  let taken = 0;
  for (;;) {
    const {done, value} = await pieces.read().catch(lost);
    taken += value?.length ?? 0;
    if (taken > bytes || done && taken < bytes) {
      lost();
    }
    if (done) {
      return;
    }
    await send({part: value});
    tell(taken / bytes);
  }
}

// Starts a worker with the program and the model. `tell(share)` reports the part of the model that it
// has taken. `keep` leaves an embedded model in the page, for a further worker. With `task`, one of
// worker_train.js, the worker trains instead.
export async function startWorker(settings, keep, tell) {
  const {engine, script, name, source, bytes, file, task} = settings;
  const address = URL.createObjectURL(new Blob([engine, '\n', script], {type: 'text/javascript'}));
  const worker = new Worker(address);
  const answer = () => new Promise((resolve, reject) => {
    worker.onmessage = ({data}) => data.problem === undefined ? resolve(data) : reject(new Error(data.problem));
    worker.onerror = (event) => reject(new Error(event.message));
  });
  const send = async (message) => {
    const taken = answer();
    worker.postMessage(message);
    await taken;
  };
  const textOf = keep ? (node) => node.textContent : contentOf;
  try {
    await send({program: textOf(byId('page-program')), bytes});
    if (task === undefined) {
      await (file === '' ? sendEmbedded(send, textOf, tell) : sendFetched(settings, send, tell));
    }
    await send({name, source, task});
  } catch (error) {
    worker.terminate();
    throw error;
  }
  worker.onmessage = worker.onerror = null;
  URL.revokeObjectURL(address);
  return worker;
}
