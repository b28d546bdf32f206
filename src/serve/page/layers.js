// Logit lens: the next-token prediction of every layer, for every token.
import {byId, element} from '/views/dom.js';
import {commandOf, intervention} from './changes.js';
import {listenForTip, listenToArrows} from './reach.js';
import {ask, latest} from './server.js';
import {listen, session} from './session.js';
import {percent, shownToken, tokenText, wholeTokens} from './tokens.js';
import {say} from './words.js';

const rowName = ({row, layer}) => layer < 0 ? say('embed') : /^\d+$/.test(row) ? say('behind').replace('{layer}', row) : row;

const tipOf = ({entropy, rank, top}) => [
  [`${say('entropy')} ${entropy.toFixed(2)}`, ...rank === null || rank === undefined ? [] : [`${say('rank')} ${rank}`]]
    .join(' · '),
  ...top.map(({token, probability}) => element('div', {className: 'tip-row'},
    element('b', {textContent: shownToken(token)}), ` ${percent(probability)}`))];

// `next`: the whole token that follows in the text, if there is one.
function cellOf(reading, position, next) {
  const [best] = reading.top;
  const follows = position.target && position.target.id === best.id;
  const cell = element('td', {className: follows ? 'follows' : '', tabIndex: -1},
    tokenText(follows && next ? next.text : best.token));
  cell.style.setProperty('--share', `${(100 * best.probability).toFixed(0)}%`);
  cell.classList.toggle('strong', best.probability > 0.68);
  listenForTip(cell, () => tipOf(reading));
  return cell;
}

function show({positions, rows}) {
  const shown = wholeTokens(positions.map(({token}) => token));
  const head = element('tr', {}, element('td', {className: 'nothing'}), ...shown.map(({text}) =>
    element('th', {scope: 'col'}, tokenText(text))));
  byId('lens').replaceChildren(element('thead', {}, head), element('tbody', {}, ...[...rows].reverse().map((row) =>
    element('tr', {}, element('th', {scope: 'row', textContent: rowName(row)}),
      ...shown.map(({last}, i) => cellOf(row.readings[last], positions[last], shown[i + 1]))))));
  byId('lens').querySelector('tbody td').tabIndex = 0;
  if (session.step > 0) {
    byId('lens').parentNode.scrollLeft = byId('lens').scrollWidth;  // stories are about the last token
  }
}

export const layersCommand = () => commandOf('lens', {text: session.text});

export function openLayers() {
  listenToArrows(byId('lens'), 'tbody td');
  const now = latest(120, async (signal) => {
    if (session.text === '') {
      throw new Error(say('too_long'));
    }
    show(await ask('/api/lens', {model: session.model, text: session.text, top_k: 5,
                                 intervene: intervention()}, signal));
  }, (message) => { byId('layers-problem').textContent = message; });
  listen(['text', 'model', 'changes', 'part'], () => {
    if (session.part === 'layers') {
      now();
    }
  });
}
