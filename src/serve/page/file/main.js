// Opens the page of one file, whose model answers from a worker of the browser.
import {byId, element} from '/views/dom.js';
import {openPage} from '../open.js';
import {page} from '../server.js';
import {say} from '../words.js';
import {session} from '../session.js';
import {readSettings, startWorker, wholeFile} from './model_file.js';
import {openStory} from './story.js';
import {openTraining, withTraining, workerOf} from './train.js';
import {workerFetch} from './worker_fetch.js';

// Models up to this size get a second worker, so that long questions do not delay the others.
const kSmallModel = 64 << 20;
const kLongQuestions = ['/api/scores', '/api/patch'];

const settings = readSettings();
const line = element('p', {className: 'hint', role: 'status'});
const second = {worker: null};  // promise of the worker for long questions

function show(text, isProblem) {
  line.textContent = text;
  line.className = isProblem ? 'problem' : 'hint';
  line.hidden = text === '';
}

function showProblem({message}) {
  const known = ['file_cut', 'no_wasm', 'no_memory'].includes(message) ? say(message) : '';
  show(known || (/memory|allocat/i.test(message) ? say('no_memory') : `${say('failed')} ${message}`), true);
}

// A module with a vector instruction, which browsers without SIMD refuse.
const kVectorModule = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0,
                                      65, 0, 253, 15, 253, 98, 11]);

function requireBrowser() {
  const runs = typeof WebAssembly === 'object' && typeof DecompressionStream === 'function' &&
    typeof WebAssembly.Exception === 'function' && WebAssembly.validate(kVectorModule);
  if (!runs) {
    throw new Error('no_wasm');
  }
}

// Shows the problem of a worker that cannot go on.
function watched(worker) {
  worker.addEventListener('message', ({data}) => {
    if (data.problem !== undefined) {
      showProblem({message: data.problem});
    }
  });
  return worker;
}

async function startFirst() {
  requireBrowser();
  show(settings.bytes > 0 ? say('loading_model') : '', false);
  await wholeFile();
  if (settings.bytes === 0) {
    return new Promise(() => {});  // models that are trained here answer
  }
  const isSmall = settings.bytes <= kSmallModel || settings.training !== null;
  const worker = await startWorker(settings, isSmall,
    (share) => show(`${say('loading_model')} ${Math.round(100 * share)} %`, false));
  show('', false);
  return watched(worker);
}

// After a problem no question is ever answered: the line on the page says why.
const first = startFirst().catch((error) => {
  showProblem(error);
  return new Promise(() => {});
});

async function workerFor(path) {
  const trained = workerOf(session.model);
  if (trained !== null) {
    return trained;
  }
  const worker = await first;
  if (!kLongQuestions.includes(path) || settings.bytes > kSmallModel) {
    return worker;
  }
  second.worker ??= startWorker(settings, settings.training !== null, () => {}).then(watched, () => worker);
  return second.worker;
}

byId('parts').after(line);
session.parts = settings.bytes > 0 ? settings.views : ['train'];
page.fetch = withTraining(workerFetch(workerFor));
page.text = settings.text;
if (settings.training !== null) {
  openTraining(settings);
}
if (settings.story !== null) {
  openStory(settings.story);
}
openPage();
