// Box at a token: its likely alternatives, and the contributions of heads to its logit.
import {byId, element} from '../dom.js';
import {contributionMap} from './contributions.js';
import {ask} from './server.js';
import {session} from './session.js';
import {likelyRow, nameAfter, percent, tokenText} from './tokens.js';
import {say} from '../words.js';

const kOthers = 10;
const kPause = 120;  // milliseconds that the pointer must rest
let hiding = 0;
let asking = 0;
let controller = null;
let opened = null;  // token element of the box

// Shows the contributions of heads to `target` after the token ids `before`, with changes.
function showHeads(place, {before, changes}, target) {
  clearTimeout(asking);
  controller?.abort();
  asking = setTimeout(async () => {
    controller = new AbortController();
    const {signal} = controller;
    try {
      const {parts} = await ask('/api/attribute', {model: session.model, text: before, answer: target,
                                                   intervene: changes}, signal);
      place.replaceChildren(...contributionMap(parts));
    } catch (error) {
      if (!signal.aborted) {
        place.replaceChildren(element('p', {className: 'muted', textContent: error.message}));
      }
    }
  }, kPause);
}

function othersOf(piece, context, place) {
  const others = piece.likely.filter(({id}) => id !== piece.id).slice(0, kOthers);
  const rows = others.map((other) => {
    const row = likelyRow(nameAfter(context.names, other.name), other.probability, false);
    const point = () => showHeads(place, context, other.id);
    row.addEventListener('click', () => context.choose(other));
    row.addEventListener('pointerenter', point);
    row.addEventListener('focus', point);
    return row;
  });
  const list = element('div', {className: 'others'}, ...rows);
  list.addEventListener('pointerleave', () => showHeads(place, context, piece.id));
  return list;
}

function placeAt(node) {
  const box = byId('choices');
  const {left, bottom, top} = node.getClientRects()[0] ?? node.getBoundingClientRect();
  const {width, height} = box.getBoundingClientRect();
  const below = bottom + height + 8 < innerHeight || top < innerHeight - bottom;
  box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8)) + scrollX}px`;
  box.style.top = `${(below ? bottom + 4 : top - height - 4) + scrollY}px`;
}

export function closeChoices() {
  clearTimeout(hiding);
  clearTimeout(asking);
  controller?.abort();
  byId('choices').hidden = true;
  opened = null;
}

// Handles Escape: closes the box. Without a box the event stops the generation.
export function leaveChoices(event) {
  if (!byId('choices').hidden) {
    event.stopPropagation();
    closeChoices();
  }
}

export function hideChoices() {
  clearTimeout(hiding);
  hiding = setTimeout(closeChoices, 150);
}

// `piece`: {id, name, probability, likely}. `context`: {before, names: ids and names of the preceding
// tokens, text: of the piece or its whole character, changes: model changes of the generation,
// choose(other): continues from another token}.
export function showChoices(node, piece, context) {
  clearTimeout(hiding);
  if (opened === node) {
    return;
  }
  opened = node;
  const box = byId('choices');
  const title = element('p', {className: 'chosen'}, tokenText(context.text), ' ',
    element('b', {textContent: piece.probability === null ? '' : percent(piece.probability)}));
  if (piece.probability === null) {
    box.replaceChildren(title, element('p', {className: 'muted', textContent: say('before_first_token')}));
  } else {
    const place = element('div', {className: 'adds-place'},
                          element('p', {className: 'muted', textContent: say('computing')}));
    box.replaceChildren(title, element('h2', {textContent: say('likely')}), othersOf(piece, context, place),
      element('h2', {textContent: say('adds')}), place);
    showHeads(place, context, piece.id);
  }
  box.hidden = false;
  placeAt(node);
}

// Moves the keyboard focus into the box. Escape returns it to the token.
export function enterChoices() {
  byId('choices').querySelector('button')?.focus();
}

export function listenToChoices() {
  const box = byId('choices');
  box.addEventListener('pointerenter', () => clearTimeout(hiding));
  box.addEventListener('pointerleave', hideChoices);
  box.addEventListener('keydown', (event) => {
    const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (event.key === 'Escape') {
      const token = opened;
      leaveChoices(event);
      token?.focus();
      closeChoices();
    } else if (step) {
      const rows = [...box.querySelectorAll('button')];
      rows[(rows.indexOf(document.activeElement) + step + rows.length) % rows.length]?.focus();
      event.preventDefault();
    }
  });
}
