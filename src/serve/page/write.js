// Writing: the text goes on token by token, and any token can be taken back for another.
import {byId, element} from '/views/dom.js';
import {commandOf} from './changes.js';
import {hideChoices, listenToChoices, percent, showChoices, shownToken} from './choices_box.js';
import {follow} from './server.js';
import {session} from './session.js';
import {say} from './words.js';

const kLikely = 10;
const kSettings = [  // name, usual value, least, most, step
  ['temperature', 0.8, 0, 2, 0.05], ['top_k', 0, 0, 1000, 1], ['top_p', 1, 0.01, 1, 0.01],
  ['min_p', 0, 0, 1, 0.01], ['repetition_penalty', 1, 0.5, 2, 0.05], ['max_tokens', 60, 1, 4096, 1],
  ['seed', 1, 0, 2147483647, 1]];

let begin = '';      // what the pieces follow
let pieces = [];     // {text, probability, top}
let controller = null;

const settings = () => Object.fromEntries(kSettings.map(([name]) => [name, Number(byId(name).value)]));
const textUpTo = (end) => begin + pieces.slice(0, end).map(({text}) => text).join('');

function nodeOf(piece, i) {
  const node = element('span', {className: 'piece', tabIndex: 0, role: 'button', textContent: piece.text});
  node.ariaLabel = `${shownToken(piece.text)} ${percent(piece.probability)}`;
  node.style.setProperty('--doubt', `${(100 * (1 - piece.probability)).toFixed(0)}%`);
  const show = () => showChoices(node, piece, textUpTo(i), (token, probability) => goOnFrom(i, token, probability));
  node.addEventListener('pointerenter', show);
  node.addEventListener('focus', show);
  node.addEventListener('click', show);
  node.addEventListener('pointerleave', hideChoices);
  return node;
}

function showPieces() {
  byId('written').replaceChildren(element('span', {className: 'given', textContent: begin}), ...pieces.map(nodeOf));
  byId('keep').disabled = pieces.length === 0;
}

function addPiece(piece) {
  pieces.push(piece);
  byId('written').append(nodeOf(piece, pieces.length - 1));
  byId('keep').disabled = false;
}

// Tokens that are no text by themselves come as names of bytes; the text of their event is what counts.
function takeEvent(event) {
  const {logprobs, text} = event.choices[0] ?? {};
  if (!logprobs) {
    return;
  }
  const isPlain = logprobs.tokens.join('') === text;
  logprobs.tokens.forEach((token, k) => addPiece({
    text: isPlain ? token : k === 0 ? text : '',
    probability: Math.exp(logprobs.token_logprobs[k]),
    top: Object.entries(logprobs.top_logprobs[k] ?? {}).map(([name, value]) => [name, Math.exp(value)])
      .sort((a, b) => b[1] - a[1]).slice(0, kLikely),
  }));
}

async function goOn() {
  controller?.abort();
  const mine = new AbortController();
  controller = mine;
  byId('go').hidden = true;
  byId('stop').hidden = false;
  byId('write-problem').textContent = '';
  try {
    await follow('/v1/completions', {model: session.model, prompt: textUpTo(pieces.length), stream: true,
                                     logprobs: kLikely, ...settings()}, mine.signal, takeEvent);
  } catch (error) {
    if (!mine.signal.aborted) {
      byId('write-problem').textContent = `${say('failed')} ${error.message}`;
    }
  }
  if (controller === mine) {
    stop();
  }
}

function goOnFrom(i, token, probability) {
  const {top} = pieces[i];
  pieces = [...pieces.slice(0, i), {text: token, probability, top}];
  byId('choices').hidden = true;
  showPieces();
  goOn();
}

function stop() {
  controller?.abort();
  controller = null;
  byId('go').hidden = false;
  byId('stop').hidden = true;
}

export const writeCommand = () => {
  const {max_tokens: most, ...rest} = settings();
  const unusual = Object.fromEntries(kSettings.filter(([name]) => name in rest && (name === 'seed' ||
    name === 'temperature' || rest[name] !== kSettings.find(([other]) => other === name)[1]))
    .map(([name]) => [name, rest[name]]));
  return commandOf('generate', {prompt: session.text, max_new_tokens: most, ...unusual});
};

export function openWriting(useText) {
  byId('settings').append(...kSettings.map(([name, value, min, max, step]) =>
    element('label', {}, `${say(name)} `, element('input', {id: name, type: 'number', min, max, step, value}))));
  byId('go').addEventListener('click', () => {
    if (session.text !== begin || pieces.length === 0) {
      begin = session.text;
      pieces = [];
    }
    showPieces();
    goOn();
  });
  byId('stop').addEventListener('click', stop);
  byId('clear').addEventListener('click', () => {
    stop();
    begin = '';
    pieces = [];
    showPieces();
  });
  byId('keep').addEventListener('click', () => useText(textUpTo(pieces.length)));
  listenToChoices();
  showPieces();
}
