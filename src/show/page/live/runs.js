// Training runs, live.
import {distinctColour} from '../colours.js';
import {byId, element, option} from '../dom.js';
import {chartOf} from './chart.js';
import {ask, follow, page} from './server.js';
import {listen, session} from './session.js';
import {say} from '../words.js';

const kValues = {  // curves, from the lines of metrics.jsonl
  training_loss: ({loss}) => loss,
  learning_rate: ({learning_rate: rate}) => rate,
  speed: ({tokens, seconds, loss}) => loss === undefined ? undefined : tokens / seconds,
  gradient_norm: ({gradient_norm: norm}) => norm,
};

const kSamples = 3;      // shown per run
const kAskedEvery = 2000;  // milliseconds between requests for the list of runs

let names = [];
const runs = new Map();  // by name: {metrics, heads, samples}
const chosen = new Set();
let controller = null;
let waiting = false;
let timer = 0;
let lost = false;  // no stream from the server: the charts are out of date

function curvesOf(value) {
  return names.filter((name) => chosen.has(name) && runs.has(name)).flatMap((name) => {
    const {metrics} = runs.get(name);
    const points = (of) => metrics.map((line) => [line.iteration, of(line)]).filter(([, y]) => y !== undefined);
    const colour = names.indexOf(name);
    const own = {name, colour, points: points(kValues[value])};
    return value !== 'training_loss' ? [own]
      : [own, {name, colour, dashed: true, points: points((line) => line.validation_loss)}];
  });
}

// Returns the curve of a score for every head, of the first chosen run with head scores.
function births() {
  const name = names.find((one) => chosen.has(one) && runs.get(one)?.heads.length > 0);
  if (name === undefined) {
    return [];
  }
  const lines = runs.get(name).heads;
  const score = byId('score').value || page.score;
  const heads = lines[0].heads?.map(({head}) => head) ?? [];
  return heads.map((head, i) => ({name: head, colour: i,
    points: lines.map((line) => [line.iteration, line.heads.find((one) => one.head === head)?.[score] ?? NaN])}));
}

function fillScores() {
  const first = [...runs.values()].find(({heads}) => heads.length > 0)?.heads[0].heads?.[0];
  if (first && byId('score').options.length === 0) {
    byId('score').append(...Object.keys(first).filter((key) => typeof first[key] === 'number' &&
      !['layer', 'index'].includes(key)).map((key) => option(key, key.replaceAll('_', ' '), key === page.score)));
  }
}

// Shows the latest samples of every chosen run, the newest first.
function showSamples() {
  const shown = names.filter((name) => chosen.has(name) && runs.has(name)).flatMap((name) =>
    runs.get(name).samples.slice(-kSamples).reverse().map(({iteration, text}) =>
      element('figure', {className: 'sample'},
        element('figcaption', {className: 'muted'}, keyOf(name, names.indexOf(name)), ` ${say('steps', {count: iteration})}`),
        element('blockquote', {textContent: text}))));
  byId('samples').hidden = shown.length === 0;
  byId('sample-list').replaceChildren(...shown);
}

function draw() {
  waiting = false;
  const value = byId('value').value;
  byId('chart').replaceChildren(chartOf(curvesOf(value), say(value)));
  fillScores();
  const curves = births();
  byId('births').hidden = curves.length === 0;
  if (curves.length > 0) {
    byId('birth-chart').replaceChildren(chartOf(curves, say('born')));
    byId('birth-legend').replaceChildren(...curves.map(({name, colour}) => keyOf(name, colour)));
  }
  showSamples();
  for (const name of names) {
    const last = runs.get(name)?.metrics.at(-1);
    byId(`state-${names.indexOf(name)}`).textContent = last ? say('steps', {count: last.iteration}) : '';
  }
}

function keyOf(name, colour) {
  const dot = element('i', {className: 'dot'});
  dot.style.background = distinctColour(colour);
  return element('span', {className: 'key'}, dot, name);
}

function take({run, reset, ...told}) {
  const known = reset || !runs.has(run) ? {metrics: [], heads: [], samples: []} : runs.get(run);
  Object.entries(known).forEach(([log, lines]) => lines.push(...told[log]));
  runs.set(run, known);
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(draw);
  }
}

function watch() {
  controller?.abort();
  controller = new AbortController();
  const {signal} = controller;
  runs.clear();
  lost = false;
  if (chosen.size > 0) {
    follow('/api/watch', {runs: [...chosen]}, signal, take).catch((error) => {
      if (!signal.aborted) {
        byId('train-problem').textContent = error.message;
      }
    }).finally(() => { lost = lost || !signal.aborted; });
  }
  draw();
}

function rowOf(name, i) {
  const box = element('input', {type: 'checkbox', checked: chosen.has(name)});
  box.addEventListener('change', () => {
    box.checked ? chosen.add(name) : chosen.delete(name);
    watch();
  });
  return element('li', {}, element('label', {}, box, keyOf(name, i)),
    element('span', {className: 'muted', id: `state-${i}`}));
}

// Returns the names in their old order, which keeps their colours, then new names.
export const mergedNames = (old, found) =>
  [...old.filter((name) => found.includes(name)), ...found.filter((name) => !old.includes(name))];

// Shows the list of runs. Returns true when the chosen ones have changed.
function showList(found) {
  const merged = mergedNames(names, found);
  const gone = [...chosen].filter((name) => !merged.includes(name));
  gone.forEach((name) => chosen.delete(name));
  const isOther = gone.length > 0 || names.length === 0;
  if (isOther && chosen.size === 0 && merged.length > 0) {
    chosen.add(merged[0]);
  }
  byId('no-runs').hidden = merged.length > 0;
  byId('charts').hidden = merged.length === 0;
  if (merged.join('\n') !== names.join('\n')) {
    names = merged;
    byId('runs').replaceChildren(...names.map(rowOf));
    draw();
  }
  return isOther && names.length > 0;
}

// Requests the list of runs repeatedly while it is shown. Reconnects after an outage.
async function refresh() {
  const found = await ask('/api/runs').then((answer) => answer.runs, () => null);
  clearTimeout(timer);
  byId('train-problem').textContent = found === null ? say('no_server') : '';
  if (found === null) {
    lost = true;
  } else if (session.part === 'train' && (showList(found) || lost)) {
    watch();
  }
  if (session.part === 'train') {
    timer = setTimeout(refresh, kAskedEvery);
  }
}

// Shows a run that has just begun, and no other.
export function showRun(name) {
  chosen.clear();
  chosen.add(name);
  lost = true;
  refresh();
}

export function openRuns() {
  byId('value').append(...Object.keys(kValues).map((name) => option(name, say(name), name === 'training_loss')));
  byId('value').addEventListener('change', draw);
  byId('score').addEventListener('change', draw);
  listen(['part'], () => {
    if (session.part === 'train') {
      refresh();
    } else {
      controller?.abort();
      clearTimeout(timer);
      lost = true;
    }
  });
}
