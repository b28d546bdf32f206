// Logit lens: the next-token prediction of every layer, for every token.
import {byId, element} from '../dom.js';
import {commandOf, intervention} from './changes.js';
import {completedTokens} from './completed.js';
import {listenForTip, listenToArrows} from './reach.js';
import {ask, latest} from './server.js';
import {listen, session} from './session.js';
import {percent, shownToken, tokenText, wholeTokens} from './tokens.js';
import {say} from '../words.js';

const kMostCut = 32;  // predictions whose characters are completed: of the last token, and of the others

const rowName = ({row, layer}) => layer < 0 ? say('embed') : /^\d+$/.test(row) ? say('behind', {layer: row}) : row;

// `texts`: completed predictions, as completedTokens() returns them.
const tipOf = ({entropy, rank, top}, texts) => [
  [`${say('lens_entropy')} ${entropy.toFixed(2)}`, ...rank === null || rank === undefined ? [] : [`${say('rank')} ${rank}`]]
    .join(' · '),
  ...top.map((one) => element('div', {className: 'tip-row'},
    element('b', {textContent: shownToken(texts.get(one) ?? one.token)}), ` ${percent(one.probability)}`))];

function cellOf(reading, position, texts) {
  const [best] = reading.top;
  const follows = position.target && position.target.id === best.id;
  const cell = element('td', {className: follows ? 'follows' : '', tabIndex: -1}, tokenText(texts.get(best) ?? best.token));
  cell.style.setProperty('--share', `${(100 * best.probability).toFixed(0)}%`);
  cell.classList.toggle('strong', best.probability > 0.68);
  listenForTip(cell, () => tipOf(reading, texts));
  return cell;
}

// Returns the predictions at whole tokens, {before, id, token, place: the object of the answer}: the
// best ones of all cells first, in the order of `wholes` and from the output down.
export function predictionsAt({positions, rows}, wholes) {
  const ids = positions.map(({id}) => id);
  const count = Math.max(...rows.flatMap(({readings}) => readings.map(({top}) => top.length)));
  return Array.from({length: count}, (_, rank) => wholes.flatMap(({last}) => [...rows].reverse().flatMap(({readings}) =>
    readings[last].top.slice(rank, rank + 1).map((place) =>
      ({before: ids.slice(0, last + 1), id: place.id, token: place.token, place}))))).flat();
}

// Returns a Map from the predictions that are right to the whole token of the text which they begin.
export function knownTexts({positions, rows}, wholes) {
  return new Map(wholes.slice(0, -1).flatMap(({last}, i) => rows.flatMap(({readings}) => readings[last].top
    .filter(({id}) => positions[last].target?.id === id).map((one) => [one, wholes[i + 1].text]))));
}

// Adds the texts of wrong predictions that end within a character to `texts`, by prediction.
async function complete(answer, wholes, texts, signal) {
  const parts = [wholes.slice(-1), wholes.slice(0, -1).reverse()].map((some) =>
    predictionsAt(answer, some).filter(({place}) => !texts.has(place)));
  await Promise.all(parts.map(async (part) => {
    for (const [{place}, text] of await completedTokens(part, kMostCut, intervention(), signal)) {
      texts.set(place, text);
    }
  }));
}

// Shows the answer. Returns the cells, by the prediction that each shows.
function show({positions, rows}, wholes, texts) {
  const cells = new Map();
  const head = element('tr', {}, element('td', {className: 'nothing'}), ...wholes.map(({text}) =>
    element('th', {scope: 'col'}, tokenText(text))));
  byId('lens').replaceChildren(element('thead', {}, head), element('tbody', {}, ...[...rows].reverse().map((row) =>
    element('tr', {}, element('th', {scope: 'row', textContent: rowName(row)}), ...wholes.map(({last}) => {
      const cell = cellOf(row.readings[last], positions[last], texts);
      cells.set(row.readings[last].top[0], cell);
      return cell;
    })))));
  byId('lens').querySelector('tbody td').tabIndex = 0;
  if (session.step > 0) {
    byId('lens').parentNode.scrollLeft = byId('lens').scrollWidth;  // stories are about the last token
  }
  return cells;
}

async function follow(signal) {
  if (session.text === '') {
    throw new Error(say('too_long'));
  }
  const answer = await ask('/api/lens', {model: session.model, text: session.text, top_k: 5,
                                         intervene: intervention()}, signal);
  const wholes = wholeTokens(answer.positions.map(({token}) => token));
  const texts = knownTexts(answer, wholes);
  const cells = show(answer, wholes, texts);
  await complete(answer, wholes, texts, signal);
  for (const [best, cell] of cells) {
    cell.replaceChildren(tokenText(texts.get(best) ?? best.token));
  }
}

export const layersCommand = () => commandOf('lens', {text: session.text});

export function openLayers() {
  listenToArrows(byId('lens'), 'tbody td');
  const now = latest(120, follow, (message) => { byId('layers-problem').textContent = message; });
  listen(['text', 'model', 'changes', 'part'], () => {
    if (session.part === 'layers') {
      now();
    }
  });
}
