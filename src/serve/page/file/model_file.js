// The parts of the page's file: settings, program, model.
import {byId} from '/views/dom.js';

const contentOf = (node) => {
  const text = node.textContent;
  node.remove();  // the text is large, and only its copy is needed
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

// Starts a worker with the program and the model. `tell(share)` reports the part of the model that it
// has taken. `keep` leaves the model in the page, for a further worker. With `task`, one of
// worker_train.js, the worker trains instead.
export async function startWorker({script, name, source, bytes, task}, keep, tell) {
  const address = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
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
  await send({program: textOf(byId('page-program')), bytes});
  const parts = task === undefined ? [...document.querySelectorAll('.page-model')] : [];
  for (const [i, part] of parts.entries()) {
    await send({part: textOf(part)});
    tell((i + 1) / parts.length);
  }
  await send({name, source, task});
  worker.onmessage = null;
  URL.revokeObjectURL(address);
  return worker;
}
