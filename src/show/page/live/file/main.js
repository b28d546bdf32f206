// Opens the page of one file, whose model answers from a worker of the browser.
import {byId, element} from '../../dom.js';
import {openLivePage} from '../open.js';
import {page} from '../server.js';
import {language, say} from '../../words.js';
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
const bar = element('progress', {id: 'loading', max: 1, value: 0, ariaLabel: say('loading_model'), hidden: true});
const second = {worker: null};  // promise of the worker for long questions

function show(text, isProblem) {
  line.textContent = text;
  line.className = isProblem ? 'problem' : 'hint';
  line.hidden = text === '';
}

// Returns the line for a problem: that of a known one, else its own message.
function problemText(message) {
  const known = ['file_cut', 'no_wasm', 'no_memory', 'no_model', 'needs_server'].includes(message) ? message
    : /memory|allocat/i.test(message) ? 'no_memory' : null;
  return known === null ? `${say('failed')} ${message}`
    : say(known, {file: settings.file, page: location.pathname.split('/').pop()});
}

function showProblem({message}) {
  bar.hidden = true;
  show(problemText(message), true);
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

// Calls see(problem) when a worker cannot go on.
function watched(worker, see) {
  worker.addEventListener('message', ({data}) => {
    if (data.problem !== undefined) {
      see(data.problem);
    }
  });
  worker.addEventListener('error', ({message}) => see(message));
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
  bar.hidden = false;
  const worker = await startWorker(settings, isSmall, (share) => { bar.value = share; });
  bar.hidden = true;
  show('', false);
  return watched(worker, (message) => showProblem({message}));
}

// After a problem no question is ever answered: the line on the page says why.
const first = startFirst().catch((error) => {
  showProblem(error);
  return new Promise(() => {});
});

// The first worker answers long questions, too, when the second one cannot start or has ended.
async function workerFor(path) {
  const trained = workerOf(session.model);
  if (trained !== null) {
    return trained;
  }
  const worker = await first;
  if (!kLongQuestions.includes(path) || settings.bytes > kSmallModel) {
    return worker;
  }
  second.worker ??= startWorker(settings, settings.training !== null, () => {})
    .then((other) => watched(other, () => { second.worker = worker; }), () => worker);
  return second.worker;
}

byId('parts').closest('.choices').after(line, bar);
session.parts = settings.bytes > 0 ? settings.views : ['train'];
page.fetch = withTraining(workerFetch(workerFor, problemText));
page.text = settings.text;
if (settings.training !== null) {
  openTraining(settings);
}
if (settings.stories.length > 0) {
  openStory(settings.stories.find((story) => story.language === language) ?? settings.stories[0], settings.stories.length > 1);
}
openLivePage();
