// The training tab of a page of one file: models learn in workers, and then answer in all parts.
import {byId, element} from '../../dom.js';
import {openPart, openTrained} from '../open.js';
import {showRun} from '../runs.js';
import {page} from '../server.js';
import {session} from '../session.js';
import {language, say} from '../../words.js';
import {startWorker} from './model_file.js';
import {zipOf} from './zip.js';

// Boxes of the form, by keys of headlight train: value, minimum, maximum.
const kBoxes = {n_layer: [2, 1, 12], n_head: [4, 1, 16], n_embd: [64, 4, 512], block_size: [64, 8, 512],
                max_iters: [600, 1, 100000]};
const kFixed = {tokenizer: 'char', position: 'rope', bias: 'true', batch_size: '8', learning_rate: '5e-3', beta2: '0.99', weight_decay: '0.2',
                eval_iters: '4', sample_tokens: '120', keep_checkpoints: '1'};
const kLooks = 20;        // samples and scores of heads in a run
const kPromptLength = 24;  // characters
const kRecent = 20;       // steps for the speed
const kMostDefault = 200000;  // characters of the toy corpus, which a run of minutes does not exhaust

const runs = new Map();   // by name: {worker, metrics, heads, samples} of every run of this page
const watchers = new Map();  // by their signal: tell(news)
let settings = null;
let nodes = null;
let current = null;       // name of the run that trains; null: none does
let last = '';            // name of the newest trained model

// Returns the worker of a model that was trained here, or null.
export const workerOf = (model) => runs.get(model)?.worker ?? null;

// Returns documents of one language, if the text has several.
export function textFor(language, {text, mixed}) {
  const documents = text.split('\n\n').filter((one) => /[가-힣]/.test(one) === (language === 'ko'));
  return mixed && documents.length > 0 ? documents.join('\n\n').slice(0, kMostDefault) : text;
}

// Returns the settings of a run, as texts by keys of headlight train.
export function settingsOf(sizes, text) {
  const steps = Number(sizes.max_iters);
  const every = String(Math.max(1, Math.round(steps / kLooks)));
  const prompt = text.trim().split(/\s/)[0].slice(0, kPromptLength);
  return {...kFixed, ...sizes, eval_interval: every, track_heads: every, sample_interval: every, sample_prompt: prompt};
}

// Returns the first of trained-1, trained-2 ... that is no name yet.
export function freeName(names) {
  let number = 1;
  while (names.includes(`trained-${number}`)) {
    number += 1;
  }
  return `trained-${number}`;
}

const stepsOf = (metrics) => metrics.filter(({loss}) => loss !== undefined);

// Returns steps per second over the latest lines of metrics.jsonl.
export function speedOf(metrics) {
  const steps = stepsOf(metrics).slice(-kRecent - 1);
  const seconds = steps.length < 2 ? 0 : steps.at(-1).elapsed_seconds - steps[0].elapsed_seconds;
  return seconds > 0 ? (steps.length - 1) / seconds : 0;
}

function statusOf({metrics}, steps) {
  const step = stepsOf(metrics).at(-1);
  const evaluation = metrics.filter((line) => line.validation_loss !== undefined).at(-1);
  const speed = speedOf(metrics);
  const made = step === undefined ? 0 : step.iteration + 1;
  return [say('steps', {count: `${made} / ${steps}`}),
          ...speed > 0 ? [say('steps_each_second', {speed: speed < 10 ? speed.toFixed(1) : Math.round(speed)})] : [],
          ...step === undefined ? [] : [`${say('training_loss')} ${step.loss.toFixed(3)}`],
          ...evaluation === undefined ? [] : [`${say('validation')} ${evaluation.validation_loss.toFixed(3)}`]].join(' · ');
}

// The answer of /api/watch: existing and new lines of runs, as headlight serve sends them.
function watch(names, signal) {
  const encoder = new TextEncoder();
  return new Response(new ReadableStream({start: (controller) => {
    const tell = (news) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(news)}\n\n`));
    names.forEach((run) => {
      const {metrics, heads, samples} = runs.get(run);
      tell({run, metrics, heads, samples});
    });
    watchers.set(signal, (news) => { names.includes(news.run) && tell(news); });
    signal.addEventListener('abort', () => {
      watchers.delete(signal);
      controller.error(signal.reason);
    });
  }}));
}

// Returns `fetch` with the paths of runs answered here.
export const withTraining = (fetch) => async (path, request) =>
  path === '/api/runs' ? new Response(JSON.stringify({runs: [...runs.keys()]}))
    : path === '/api/watch' ? watch(JSON.parse(request.body).runs, request.signal) : fetch(path, request);

function showState() {
  nodes.start.hidden = current !== null;
  nodes.start.className = last === '' ? 'primary' : 'quiet';
  nodes.stop.hidden = current === null;
  nodes.stop.disabled = !runs.has(current);  // its worker starts
  nodes.save.hidden = current !== null || last === '';
  nodes.explore.hidden = nodes.save.hidden || !settings.views.includes('heads');
  nodes.bar.hidden = current === null;
}

function showProblem(message) {
  nodes.problem.textContent = message;
}

function takeNews(name, news, steps) {
  const run = runs.get(name);
  ['metrics', 'heads', 'samples'].forEach((log) => run[log].push(...news[log]));
  watchers.forEach((tell) => tell(news));
  nodes.state.textContent = statusOf(run, steps);
  nodes.bar.value = stepsOf(run.metrics).length / steps;
}

async function finish(name) {
  current = null;
  last = name;
  showState();
  nodes.note.textContent = say('trained', {name});
  await openTrained(name, settings.views, settings.text || nodes.text.value);
}

// Ends a run, or the use of its model.
function fail(name, problem) {
  const run = runs.get(name);
  if (run !== undefined) {  // its curves stay
    run.worker.terminate();
    run.worker = null;
  }
  current = current === name ? null : current;
  last = last === name ? '' : last;
  showProblem(problem);
  showState();
}

function saveFiles(name, files) {
  const link = element('a', {href: URL.createObjectURL(new Blob(zipOf(files), {type: 'application/zip'})), download: `${name}.zip`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function listenTo(worker, name, steps) {
  worker.addEventListener('message', ({data: {news, trained, files, problem}}) => {
    if (news !== undefined) {
      takeNews(name, news, steps);
    } else if (trained !== undefined) {
      finish(name).catch(({message}) => showProblem(message));
    } else if (files !== undefined) {
      saveFiles(name, files);
    } else if (problem !== undefined) {
      fail(name, problem);
    }
  });
}

async function start() {
  const wrong = Object.keys(kBoxes).find((key) => !nodes[key].reportValidity());
  if (wrong !== undefined || current !== null) {
    return;
  }
  const name = freeName([...runs.keys(), ...session.models.map(({id}) => id)]);
  const text = nodes.text.value;
  const sizes = Object.fromEntries(Object.keys(kBoxes).map((key) => [key, nodes[key].value]));
  current = name;
  showProblem('');
  nodes.note.textContent = '';
  nodes.state.textContent = say('training_begins');
  nodes.bar.value = 0;
  showState();
  try {
    const worker = await startWorker({...settings, bytes: 0, task: {name, text, settings: settingsOf(sizes, text)}}, true, () => {});
    runs.set(name, {worker, metrics: [], heads: [], samples: []});
    listenTo(worker, name, Number(sizes.max_iters));
    showState();
    showRun(name);
  } catch ({message}) {
    nodes.state.textContent = '';
    fail(name, message);
  }
}

const send = (name, trainer) => runs.get(name)?.worker?.postMessage({trainer});

function boxOf(key) {
  const [value, min, max] = kBoxes[key];
  nodes[key] = element('input', {id: `train-${key}`, type: 'number', value, min, max, step: 1, required: true});
  return element('label', {}, `${say(key)} `, nodes[key]);
}

const button = (id, className, onclick) => element('button', {type: 'button', id, className, textContent: say(id), onclick});

function buildForm() {
  nodes = {
    text: element('textarea', {id: 'training-text', rows: 8, spellcheck: false, value: textFor(language, settings.training)}),
    start: button('train_start', 'primary', start),
    stop: button('train_stop', 'primary', () => send(current, 'end')),
    explore: button('train_explore', 'primary', () => openPart('heads')),
    save: button('train_save', 'quiet', () => send(last, 'files')),
    state: element('p', {id: 'training-state', className: 'muted'}),
    bar: element('progress', {max: 1, value: 0, ariaLabel: say('train')}),
    problem: element('p', {id: 'training-problem', className: 'problem', role: 'alert'}),
    note: element('p', {id: 'training-note', className: 'hint', role: 'status'}),
  };
  byId('part-train').prepend(
    element('p', {className: 'hint', textContent: say('train_hint')}),
    element('label', {className: 'training-text'}, element('span', {textContent: say('train_text')}), nodes.text),
    element('div', {className: 'bar-row', id: 'training-sizes'}, ...Object.keys(kBoxes).map(boxOf)),
    element('div', {className: 'bar-row'}, nodes.start, nodes.stop, nodes.explore, nodes.save, nodes.bar, nodes.state),
    nodes.problem, nodes.note);
  byId('runs').after(byId('samples'));  // beside the curves, so that both are seen
  byId('charts').classList.add('own-runs');
  delete byId('no-runs').dataset.say;  // its words name an option of the server
  showState();
}

// Prepares the tab: call before the page opens.
export function openTraining(pageSettings) {
  settings = pageSettings;
  page.hasModel = settings.bytes > 0;
  page.score = 'previous_token';  // small models have such heads first
  byId('model').parentNode.hidden = !page.hasModel;
  buildForm();
}
