// Views of `headlight attention` for the current text, with switches.
import {byId, element} from '../dom.js';
import {decode} from '../documents.js';
import {openPage, renewPage} from '../open.js';
import {documents, view} from '../state.js';
import {buildBoard, openBoard, showChanges, showClasses, showShifts} from './board.js';
import {commandOf, intervention} from './changes.js';
import {completedTokens} from './completed.js';
import {listenForTip, listenToArrows} from './reach.js';
import {ask, latest} from './server.js';
import {listen, session} from './session.js';
import {likelyRow, percent, shownToken, tokenText, wholeTokens} from './tokens.js';
import {say} from '../words.js';

const kMostCut = 4;  // next tokens whose characters are completed
const kMost = 6;  // nats for the full colour of a token; half of it for changes

let isOpen = false;
let shape = '';   // layers and heads of the board's model
let isTurned = false;  // the fragment of the address names another head, for the next answers
let shown = null;  // the current answers, and whether they have vectors
let unchanged = {};  // the last maps without switches, and their question

function withClasses(doc) {
  return {...doc, scores: Object.fromEntries([...session.classes].map(
    ([head, {label, score, settled}]) => [head, [label, score, settled]]))};
}

// Returns each head's pattern change: half the sum of absolute differences, mean over rows.
function shiftsOf(before, after) {
  return new Map(after.heads.map((head) => {
    const old = before.byName.get(head.name);
    const [a, b] = [decode(old), decode(head)];
    let sum = 0;
    a.forEach((weight, i) => { sum += Math.abs(weight - b[i]); });
    return [head.name, sum / 2 / after.count];
  }));
}

function showViews(plain, changed) {
  const data = {...plain, documents: [withClasses(plain.documents[0])], beside: -1};
  if (changed) {
    data.documents[0].title = say('before');
    data.documents.push({...withClasses(changed.documents[0]), title: say('after')});
    data.beside = 1;
  }
  if (isOpen) {
    renewPage(data);
  } else {
    isOpen = true;
    openPage(data);
  }
  const doc = documents[0];
  const found = `${session.model} ${doc.layers.length} ${doc.columns.length}`;
  if (found !== shape) {
    shape = found;
    buildBoard(doc);
  }
  showShifts(changed ? shiftsOf(documents[0], documents[1]) : new Map());
}

function showNext({before, after}, isChanged) {
  const old = new Map(before.next.map(({id, probability}) => [id, probability]));
  byId('next').replaceChildren(...(isChanged ? after : before).next.map(({id, token, probability}) => {
    const row = likelyRow(token, probability);
    if (isChanged) {
      row.lastChild.prepend(`${old.has(id) ? percent(old.get(id)) : '–'} → `);
    }
    return row;
  }));
  const loss = (value) => value === null ? '–' : value.toFixed(3);
  byId('loss').textContent = say('loss_of_text',
    {value: loss(before.loss) + (isChanged ? ` → ${loss(after.loss)}` : '')});
}

// Shows likely next tokens that end within a character with the rest of the character.
async function completeNext({tokens, before, after}, intervene, signal) {
  const rows = [...byId('next').children];
  const ids = tokens.map(({id}) => id);
  const next = (intervene === '' ? before : after).next.map(({id, token}) => ({before: ids, id, token}));
  for (const [one, text] of await completedTokens(next, kMostCut, intervene, signal)) {
    rows[next.indexOf(one)].firstChild.replaceWith(tokenText(text, 'label'));
  }
}

// Returns the loss of tokens; null if they include the first of the text.
function lossOf({logprobs}, {first, last}) {
  const values = logprobs.slice(first, last + 1);
  return values.includes(null) ? null : -values.reduce((sum, value) => sum + value, 0);
}

// Shows the text with the loss of each token, and its change by switches.
function showSurprise({tokens, before, after}, isChanged) {
  byId('surprise').replaceChildren(...wholeTokens(tokens.map(({token}) => token)).map((whole, i) => {
    const {text: token} = whole;
    const cost = lossOf(before, whole);
    const changed = lossOf(after, whole);
    const amount = cost === null ? 0 : isChanged ? (changed - cost) / (kMost / 2) : cost / kMost;
    const node = element('span', {className: isChanged ? (amount > 0 ? 'worse' : 'better') : 'cost',
                                  textContent: token, tabIndex: i === 0 ? 0 : -1});
    node.style.setProperty('--amount', `${(70 * Math.min(1, Math.abs(amount))).toFixed(0)}%`);
    const text = cost === null ? '–' : isChanged ? `${cost.toFixed(2)} → ${changed.toFixed(2)}` : cost.toFixed(2);
    listenForTip(node, () => [`${text} nats`, shownToken(token)]);
    return node;
  }));
}

// Queries and keys are large, and only the neuron view uses them.
const needsVectors = () => isOpen ? view.tab === 'neuron' : location.hash.startsWith('#neuron');

// Returns the maps without switches, which many switches share.
async function unchangedMaps(question, signal) {
  const key = JSON.stringify(question);
  if (unchanged.key !== key) {
    unchanged = {key, maps: await ask('/api/attention', question, signal)};
  }
  return unchanged.maps;
}

async function follow(signal) {
  if (session.text === '') {
    throw new Error(say('too_long'));
  }
  const question = {model: session.model, text: session.text};
  const intervene = intervention();
  const vectors = needsVectors();
  const maps = {...question, vectors, units: vectors ? 'token' : byId('by').value};
  const [plain, changed, scores] = await Promise.all([
    unchangedMaps(maps, signal),
    intervene ? ask('/api/attention', {...maps, intervene}, signal) : null,
    ask('/api/predict', {...question, intervene, top_k: 10}, signal)]);
  shown = {plain, changed, vectors};
  showViews(plain, changed);
  if (isTurned) {
    isTurned = false;
    dispatchEvent(new Event('hashchange'));  // the views read the fragment
  }
  showNext(scores, intervene !== '');
  showSurprise(scores, intervene !== '');
  await completeNext(scores, intervene, signal);
}

// The neuron view needs the vectors of its head, by tokens.
export function headsCommand() {
  const isNeuron = view.tab === 'neuron';
  return commandOf('attention', {text: session.text, view: view.tab === 'model' ? '' : view.tab,
                                 heads: isNeuron ? view.head : '',
                                 units: isNeuron || byId('by').value === 'char' ? '' : byId('by').value, out: 'attention'});
}

export function openHeads() {
  openBoard();
  listenToArrows(byId('surprise'), 'span');
  const tell = (message) => { byId('heads-problem').textContent = message; };
  const now = latest(60, follow, tell);
  const follows = () => {
    showChanges();
    if (session.part === 'heads') {
      now();
    }
  };
  listen(['text', 'model', 'changes', 'part'], follows);
  listen(['model'], () => {
    shown = null;
    unchanged = {};
  });
  listen(['selection'], () => { isTurned = true; });
  byId('by').addEventListener('change', follows);
  listen(['classes'], () => {
    showClasses();
    if (shown !== null) {
      showViews(shown.plain, shown.changed);
    }
  });
  // Clicks, keys and addresses open the neuron view; all of them set data-view.
  new MutationObserver(() => {
    if (needsVectors() && shown !== null && !shown.vectors ||
        !needsVectors() && shown?.vectors && byId('by').value !== 'token') {
      follows();
    }
  }).observe(document.body, {attributeFilter: ['data-view']});
}
