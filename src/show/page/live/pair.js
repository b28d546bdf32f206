// Activation patching between two texts: the share of the answer that each part recovers.
import {byId, element, option} from '../dom.js';
import {buildGrid} from '../results/grid.js';
import {showCarry} from './carry.js';
import {carriedChange, commandOf, intervention} from './changes.js';
import {listenToArrows} from './reach.js';
import {ask, askLong, latest} from './server.js';
import {changed, listen, session} from './session.js';
import {openStrips, showStrips} from './token_strips.js';
import {shownToken} from './tokens.js';
import {say} from '../words.js';

const kCarried = {  // patching options of the server and the command
  head: {point: 'z', by: 'head'},
  resid_post: {point: 'resid_post', by: 'position'},
  mlp_out: {point: 'mlp_out', by: 'position'},
  attn_out: {point: 'attn_out', by: 'position'},
  position: {point: 'z', by: 'head,position'},
};
const kPause = 500;  // milliseconds without a key press: one map takes many passes

let task = null;    // {answer, wrong} of the current map
let pieces = null;  // token texts: [clean, corrupt]

const isOfHeads = () => kCarried[session.carried].point === 'z';
const rowOf = ({layer, item: head}, by) => by === 'head' || head === null ? `${layer}` : `${layer}.${head}`;
const columnOf = ({item: head, position}, by) => by === 'head' ? head : position;

// Returns the cells of /api/patch as a table: rows, columns, and the cell at each place.
export function cellTable(cells, by) {
  const rows = [...new Set(cells.map((cell) => rowOf(cell, by)))];
  const columns = [...new Set(cells.map((cell) => columnOf(cell, by)))].sort((a, b) => a - b);
  const places = Array(rows.length * columns.length).fill(null);
  cells.forEach((cell) => {
    places[rows.indexOf(rowOf(cell, by)) * columns.length + columns.indexOf(columnOf(cell, by))] = cell;
  });
  return {rows, columns, places};
}

// Returns a cell in the form of session.carry.
export const carryOf = ({layer, item: head, position}, point) =>
  ({part: point === 'z' ? `${layer}.${head}` : `${point}.${layer}`, from: position ?? null, to: position ?? null});

function gridOf({rows, columns, places}, by) {
  const [, corrupt] = pieces;
  return {title: say('stronger'), note: '', row_title: by === 'head,position' ? say('one_head') : say('one_layer'),
          column_title: by === 'head' ? say('one_head') : say('token'), rows,
          columns: columns.map((number) => by === 'head' ? `${number}` : `${number} ${shownToken(corrupt[number] ?? '')}`),
          values: places.map((cell) => cell?.recovered ?? null), lows: [], highs: [], texts: [], limit: 1,
          doubtful: false};
}

// Makes cells selectable by pointer and keys; the table is one Tab stop.
function chooseCells(table, choose) {
  const cells = [...table.querySelectorAll('[data-place]')];
  table.setAttribute('role', 'grid');
  table.ariaLabel = say('stronger');
  cells.forEach((cell, i) => { cell.tabIndex = i === 0 ? 0 : -1; });
  listenToArrows(table, 'tbody td');
  const pick = (event) => {
    const chosen = event.target.closest('[data-place]');
    if (chosen) {
      cells.forEach((cell) => { cell.ariaSelected = String(cell === chosen); });
      chosen.focus();
      choose(Number(chosen.dataset.place));
    }
  };
  table.addEventListener('click', pick);
  table.addEventListener('keydown', (event) => {
    if (['Enter', ' '].includes(event.key)) {
      pick(event);
    }
    if (/^(Arrow.*|Enter| )$/.test(event.key)) {
      event.preventDefault();
    }
  });
}

// Returns the reader's answers. The server replaces missing ones by the most likely tokens.
const answers = () => Object.fromEntries(['answer', 'wrong'].map((name) => [name, session[name]])
  .filter(([, value]) => value !== ''));

const piecesOf = async (text, signal) => (await ask('/tokenize', {model: session.model, content: text,
  add_special: true, with_pieces: true}, signal)).tokens.map(({piece}) => piece);

async function readTexts(signal) {
  pieces = await Promise.all([piecesOf(session.clean, signal), piecesOf(session.corrupt, signal)]);
  showStrips(...pieces);
}

// Finds the answers without a map: the most likely next token of each text.
async function findTask(signal) {
  const {model, clean, corrupt} = session;
  const [first, second] = await Promise.all([clean, corrupt].map((text) =>
    ask('/api/predict', {model, text, top_k: 1, always: intervention()}, signal)));
  const given = async (name, {before: {next: [{id, token}]}}) => {
    if (session[name] === '') {
      return {id, token};
    }
    const {tokens} = await ask('/tokenize', {model, content: session[name], with_pieces: true}, signal);
    if (tokens.length !== 1) {
      throw new Error(say('one_token', {text: session[name], count: tokens.length}));
    }
    return {id: tokens[0].id, token: tokens[0].piece};
  };
  const found = {answer: await given('answer', first), wrong: await given('wrong', second)};
  signal.throwIfAborted();
  task = found;
}

const showChosen = latest(0, async (signal) => {
  if (session.carry !== null) {
    if (task === null) {
      await findTask(signal);
    }
    await showCarry(task, ...pieces, signal);
  }
}, (message) => {
  if (message !== '') {
    byId('carried-result').replaceChildren(element('p', {className: 'problem', textContent: message}));
  }
});

function choose(carry) {
  session.carry = carry;
  changed('carry');
  showChosen();
}

async function showMap(signal) {
  const {point, by} = kCarried[session.carried];
  const {model, clean, corrupt} = session;
  const bar = byId('patching');
  const waiting = setTimeout(() => { bar.hidden = false; }, 250);
  try {
    const result = await askLong('/api/patch', {model, clean, corrupt, point, by, intervene: intervention(), ...answers()},
                                 signal, (share) => { bar.value = share; });
    task = {answer: result.answer, wrong: result.wrong};
    byId('differences').textContent = `${say('answer')} ${shownToken(result.answer.token)}, ${say('against')} ` +
      `${shownToken(result.wrong.token)}. ${say('whole')} ${result.clean_difference.toFixed(2)}, ` +
      `${say('second')} ${result.corrupt_difference.toFixed(2)}`;
    const table = cellTable(result.cells, by);
    const grid = buildGrid(gridOf(table, by));
    chooseCells(grid.querySelector('table'), (place) => choose(carryOf(table.places[place], point)));
    byId('pair-grid').replaceChildren(grid);
  } finally {
    clearTimeout(waiting);
    bar.hidden = true;
  }
}

async function patch(signal) {
  task = null;
  fillLayers();
  await readTexts(signal);
  try {
    await showMap(signal);
  } finally {
    // Texts of different lengths have no map, but tokens can be carried.
    if (!signal.aborted) {
      showChosen();
    }
  }
}

// Fills the choices for a drag: the layer, and for heads the head.
function fillLayers() {
  const {layers, heads} = session.models.find(({id}) => id === session.model);
  const part = session.carry?.part ?? `${Math.floor((layers - 1) / 2)}.0`;
  for (const [id, count, usual] of [['carry-layer', layers, /\d+/.exec(part)], ['carry-head', heads, /\d+$/.exec(part)]]) {
    const before = Number(byId(id).value || usual);
    byId(id).replaceChildren(...Array.from({length: count}, (_, number) => option(number, number, number === before)));
  }
  byId('carry-head').parentNode.hidden = !isOfHeads();
}

const draggedPart = () => isOfHeads() ? `${byId('carry-layer').value}.${byId('carry-head').value}`
  : `${kCarried[session.carried].point}.${byId('carry-layer').value}`;

export function pairCommand() {
  const {point, by} = kCarried[session.carried];
  if (session.carry !== null) {
    return commandOf('generate', {intervene: [intervention(), carriedChange(session.carry, session.clean)].filter(Boolean)
      .join('; '), prompt: session.corrupt, temperature: 0, max_new_tokens: 1, logprobs: 10});
  }
  return commandOf('patch', {clean: session.clean, corrupt: session.corrupt,
                             ...answers(), ...session.carried === 'head' ? {} : {point, by}});
}

export function openPair() {
  const forget = () => {
    session.carry = null;
    task = null;
    byId('carried-result').replaceChildren(element('p', {className: 'hint', textContent: say('carry_hint')}));
    showChosen();  // nothing is chosen: cancels requests for the previous texts
  };
  const now = latest(kPause, patch, (message) => { byId('pair-problem').textContent = message; });
  byId('carried').append(...Object.keys(kCarried).map((name) =>
    option(name, say(`part_${name}`), name === session.carried)));
  byId('carried').addEventListener('change', () => {
    session.carried = byId('carried').value;
    changed('pair');
  });
  for (const name of ['clean', 'corrupt', 'answer', 'wrong']) {
    byId(name).value = session[name];
    byId(name).addEventListener('input', () => {
      session[name] = byId(name).value;
      forget();
      changed('pair');
    });
  }
  if (session.carry === null) {
    forget();
  }
  openStrips((from, to) => choose({part: draggedPart(), from, to}));
  listen(['model'], forget);
  listen(['pair', 'part', 'model', 'changes'], () => {
    if (session.part === 'pair') {
      now();
    }
  });
}
