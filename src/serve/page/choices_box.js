// The box at a token: what else was likely there, and which heads spoke for it.
import {byId, element} from '/views/dom.js';
import {ask} from './server.js';
import {session} from './session.js';
import {say} from './words.js';

const kHeads = 6;
let timer = 0;
let controller = null;

export const percent = (probability) => probability >= 0.1 ? `${(100 * probability).toFixed(0)} %`
  : probability >= 0.001 ? `${(100 * probability).toFixed(1)} %` : '< 0.1 %';

export const shownToken = (token) =>
  token === '' ? '∅' : token.replaceAll(' ', '·').replaceAll('\n', '⏎').replaceAll('\t', '⇥');

export function likelyRow(token, probability, chosen) {
  const bar = element('i', {className: 'meter', ariaHidden: 'true'});
  bar.style.width = `${Math.max(1, 100 * probability)}%`;
  return element('button', {type: 'button', className: chosen ? 'likely chosen' : 'likely'},
    element('bdi', {className: 'label', textContent: shownToken(token), translate: false}),
    element('span', {className: 'track'}, bar),
    element('span', {className: 'amount', textContent: percent(probability)}));
}

function headRow(part, largest) {
  const bar = element('i', {className: part.logit < 0 ? 'meter below' : 'meter', ariaHidden: 'true'});
  bar.style.width = `${100 * Math.abs(part.logit) / largest}%`;
  return element('li', {}, element('span', {textContent: part.part}), element('span', {className: 'track'}, bar),
    element('span', {className: 'amount', textContent: (part.logit < 0 ? '−' : '+') + Math.abs(part.logit).toFixed(2)}));
}

async function showHeads(list, before, token) {
  controller?.abort();
  controller = new AbortController();
  const {signal} = controller;
  list.replaceChildren(element('li', {className: 'muted', textContent: say('computing')}));
  try {
    const {parts} = await ask('/api/attribute', {model: session.model, text: before, target: token}, signal);
    const heads = parts.filter(({kind}) => kind === 'head' || kind === 'mlp')
      .sort((a, b) => Math.abs(b.logit) - Math.abs(a.logit)).slice(0, kHeads);
    list.replaceChildren(...heads.map((part) => headRow(part, Math.abs(heads[0].logit) || 1)));
  } catch (error) {
    if (!signal.aborted) {
      list.replaceChildren(element('li', {className: 'muted', textContent: error.message}));
    }
  }
}

export function hideChoices() {
  timer = setTimeout(() => {
    byId('choices').hidden = true;
    controller?.abort();
  }, 150);
}

// `piece` is {text, top: [[token, probability]]}; choose(token, probability) goes on from another.
export function showChoices(node, piece, before, choose) {
  clearTimeout(timer);
  const box = byId('choices');
  const rows = piece.top.map(([token, probability]) => {
    const row = likelyRow(token, probability, token === piece.text);
    row.addEventListener('click', () => choose(token, probability));
    return row;
  });
  const list = element('ol', {className: 'adds'});
  box.replaceChildren(element('h2', {textContent: say('likely')}), ...rows,
    element('h2', {textContent: say('adds')}), list);
  box.hidden = false;
  const {left, bottom, top} = node.getBoundingClientRect();
  const {width, height} = box.getBoundingClientRect();
  const below = bottom + height + 8 < innerHeight || top < height;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8)) + scrollX}px`;
  box.style.top = `${(below ? bottom + 4 : top - height - 4) + scrollY}px`;
  timer = setTimeout(() => showHeads(list, before, piece.text), 180);
}

export function listenToChoices() {
  const box = byId('choices');
  box.addEventListener('pointerenter', () => clearTimeout(timer));
  box.addEventListener('pointerleave', hideChoices);
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      hideChoices();
    }
  });
}
