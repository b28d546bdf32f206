// Two texts: what is carried over from one to the other, and how much of the answer comes with it.
import {byId, element, option} from '/views/dom.js';
import {buildGrid} from '/views/results/grid.js';
import {commandOf, intervention} from './changes.js';
import {shownToken} from './choices_box.js';
import {ask} from './server.js';
import {changed, session} from './session.js';
import {say} from './words.js';

const kCarried = {  // what the server is asked, and the command
  head: {point: 'z', by: 'head'},
  resid_post: {point: 'resid_post', by: 'position'},
  mlp_out: {point: 'mlp_out', by: 'position'},
  attn_out: {point: 'attn_out', by: 'position'},
  position: {point: 'z', by: 'head,position'},
};

const rowOf = ({layer, head}, by) => by === 'head' ? `${layer}`
  : head === null || head === undefined ? `${layer}` : `${layer}.${head}`;
const columnOf = ({head, position}, by) => by === 'head' ? head : position;

async function gridOf({cells}, by, text) {
  const rows = [...new Set(cells.map((cell) => rowOf(cell, by)))];
  const numbers = [...new Set(cells.map((cell) => columnOf(cell, by)))].sort((a, b) => a - b);
  const values = Array(rows.length * numbers.length).fill(null);
  cells.forEach((cell) => {
    values[rows.indexOf(rowOf(cell, by)) * numbers.length + numbers.indexOf(columnOf(cell, by))] = cell.recovered;
  });
  const pieces = by === 'head' ? [] : (await ask('/tokenize', {model: session.model, content: text,
    add_special: true, with_pieces: true})).tokens;
  return {title: say('stronger'), note: '', row_title: by === 'head,position' ? say('head') : say('layer'),
          column_title: by === 'head' ? say('head') : say('token'), rows,
          columns: numbers.map((number) => by === 'head' ? `${number}` : `${number} ${shownToken(pieces[number]?.piece ?? '')}`),
          values, lows: [], highs: [], texts: [], limit: 1, doubtful: false};
}

// As the reader gave them; without, the server takes the likeliest.
const answers = () => Object.fromEntries(['answer', 'wrong'].map((name) => [name, session[name]])
  .filter(([, value]) => value !== ''));

async function patch() {
  const {point, by} = kCarried[session.carried];
  const button = byId('patch');
  button.disabled = true;
  byId('pair-problem').textContent = say('computing');
  try {
    const result = await ask('/api/patch', {model: session.model, clean: session.clean, corrupt: session.corrupt,
                                            point, by, intervene: intervention(), ...answers()});
    byId('differences').textContent = `${say('answer')} ${shownToken(result.answer.token)}, ${say('against')} ` +
      `${shownToken(result.wrong.token)}. ${say('whole')} ${result.clean_difference.toFixed(2)}, ` +
      `${say('second')} ${result.corrupt_difference.toFixed(2)}`;
    byId('pair-grid').replaceChildren(buildGrid(await gridOf(result, by, session.corrupt)));
    byId('pair-problem').textContent = '';
  } catch (error) {
    byId('pair-problem').textContent = error.message;
  }
  button.disabled = false;
}

export const pairCommand = () => {
  const {point, by} = kCarried[session.carried];
  return commandOf('patch', {clean: session.clean, corrupt: session.corrupt,
                             ...answers(), ...session.carried === 'head' ? {} : {point, by}});
};

export function openPair() {
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
      changed('pair');
    });
  }
  byId('patch').addEventListener('click', patch);
}
