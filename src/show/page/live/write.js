// Generation token by token; any token can be replaced by another.
import {byId, element} from '../dom.js';
import {commandOf, intervention, samplingOptions} from './changes.js';
import {closeChoices, enterChoices, hideChoices, leaveChoices, listenToChoices, showChoices} from './choices_box.js';
import {listenToArrows} from './reach.js';
import {ask, follow} from './server.js';
import {listen, session} from './session.js';
import {refusesNumbers} from './settings.js';
import {isSpecial, percent, readTokens, shownTexts, shownToken, wholeTokens} from './tokens.js';
import {say} from '../words.js';

const kLikely = 11;  // ten alternatives and the token itself

let begun = '';      // text before the generated tokens
let given = 0;       // its characters, while they arrive with the tokens
let tokens = [];     // {id, name, probability, likely, given}, prompt included
let nodes = [];
let shown = [];      // text shown for each token
let written = '';    // switches of the generation
let controller = null;
let waiting = false;

function nodeOf(token, text, i) {
  const node = element('span', {className: `piece${token.given ? ' given' : ''}${isSpecial(token.name) ? ' special' : ''}`,
                                role: 'button', tabIndex: -1, textContent: text});
  node.dataset.token = i;
  node.ariaLabel = `${shownToken(token.name)} ${token.probability === null ? '' : percent(token.probability)}`;
  node.dataset.probability = token.probability === null ? '' : percent(token.probability).replace(/[ %]/g, '');
  node.style.setProperty('--digits', node.dataset.probability.length);
  node.classList.toggle('breaks', text.includes('\n'));
  node.style.setProperty('--doubt', `${(100 * (1 - (token.probability ?? 1))).toFixed(0)}%`);
  return node;
}

// Updates changed tokens only; a character may have become complete.
function showTokens() {
  waiting = false;
  const texts = shownTexts(tokens);
  let kept = 0;
  while (kept < Math.min(nodes.length, tokens.length) && nodes[kept].token === tokens[kept] &&
         texts[kept] === shown[kept]) {
    ++kept;
  }
  nodes.slice(kept).forEach((node) => node.remove());
  const added = tokens.slice(kept).map((token, i) =>
    Object.assign(nodeOf(token, texts[kept + i], kept + i), {token}));
  nodes = [...nodes.slice(0, kept), ...added];
  shown = texts;
  byId('written').append(...added);
  if (nodes.length > 0 && !nodes.some((node) => node.tabIndex === 0)) {
    nodes[0].tabIndex = 0;
  }
  byId('keep').disabled = tokens.every((token) => token.given);
}

function showSoon() {
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(showTokens);
  }
}

function takeEvent({choices: [choice]}) {
  // The end token comes with the last event. It is left out, so that the text can continue.
  if (choice?.logprobs && choice.finish_reason !== 'stop') {
    const {text_offset: offsets} = choice.logprobs;
    tokens.push(...readTokens(choice.logprobs).map((token, i) => ({...token, given: offsets[i] < given})));
    showSoon();
  }
}

// Shows one of the two buttons, and keeps the keyboard focus on it.
function swapButtons(shown, hidden) {
  const isReached = document.activeElement === byId(hidden);
  byId(shown).hidden = false;
  byId(hidden).hidden = true;
  if (isReached) {
    byId(shown).focus();
  }
}

// Generates from the text in the box or, with tokens, after these.
async function goOn() {
  controller?.abort();
  const mine = new AbortController();
  controller = mine;
  closeChoices();
  swapButtons('stop', 'go');
  byId('write-problem').textContent = '';
  written = intervention();
  showSwitches();
  const {answer_tokens: other, ...settings} = session.settings;
  const isNew = tokens.length === 0;
  begun = isNew ? session.text : begun;
  given = isNew ? [...begun].length : 0;
  const known = isNew ? begun : tokens.map(({id}) => id);
  try {
    await follow('/v1/completions', {model: session.model, prompt: known, echo: isNew, stream: true, logprobs: kLikely,
                                     return_token_ids: true, intervene: written, ...settings},
                 mine.signal, takeEvent);
  } catch (error) {
    if (!mine.signal.aborted) {
      byId('write-problem').textContent = `${say('failed')} ${error.message}`;
    }
  }
  if (controller === mine) {
    stop();
  }
}

function goOnFrom(i, other) {
  if (refusesNumbers('write-problem')) {
    return;
  }
  const {likely} = tokens[i];
  tokens = [...tokens.slice(0, i), {...other, likely, given: false}];
  showTokens();
  nodes[i].focus();  // moves the focus from the alternatives, which goOn() closes
  goOn();
}

function stop() {
  controller?.abort();
  controller = null;
  swapButtons('go', 'stop');
}

function clear() {
  stop();
  closeChoices();
  tokens = [];
  written = '';
  showTokens();
  showSwitches();
}

// Shows the switches of the text and of the next generation.
function showSwitches() {
  const now = intervention();
  const lines = [
    ...(tokens.length > 0 || controller) && written !== now
      ? [written === '' ? say('written_plain') : `${say('written_with')} ${written}`] : [],
    ...now !== '' ? [`${say('writes_with')} ${now}`] : []];
  byId('write-switches').replaceChildren(...lines.map((line) => element('p', {textContent: line})));
  byId('write-release').hidden = now === '';
}

// Returns null if a number in a box is invalid.
export const writeCommand = () => {
  if (refusesNumbers('write-problem')) {
    return null;
  }
  return commandOf('generate', {prompt: session.text, ...samplingOptions(session.settings, session.settings.max_tokens)});
};

const tokenUnder = (event) => {
  const place = event.target.closest?.('[data-token]')?.dataset.token;
  return place === undefined ? null : Number(place);
};

function openToken(i) {
  nodes.forEach((node, place) => { node.tabIndex = place === i ? 0 : -1; });
  const names = tokens.map(({name}) => name);
  const {text} = wholeTokens(names).find(({last}) => i <= last);
  showChoices(nodes[i], tokens[i], {before: tokens.slice(0, i).map(({id}) => id), names: names.slice(0, i), text,
                                    changes: written, choose: (other) => goOnFrom(i, other)});
}

function listenToTokens() {
  const box = byId('written');
  for (const name of ['pointerover', 'click', 'focusin']) {
    box.addEventListener(name, (event) => {
      const i = tokenUnder(event);
      if (i !== null && (name !== 'pointerover' || event.pointerType === 'mouse')) {
        openToken(i);
      }
    });
  }
  box.addEventListener('pointerout', (event) => { if (event.pointerType === 'mouse') { hideChoices(); } });
  listenToArrows(box, '.piece');
  box.addEventListener('keydown', (event) => {
    const i = tokenUnder(event);
    if (i === null || !['Enter', ' ', 'ArrowDown', 'Escape'].includes(event.key)) {
      return;
    }
    event.preventDefault();
    if (event.key === 'Escape') {
      leaveChoices(event);
    } else {
      openToken(i);
      enterChoices();
    }
  });
  addEventListener('pointerdown', (event) => {
    if (!event.target.closest?.('#choices, #written')) {
      closeChoices();
    }
  });
}

// Continues the tokens, or starts anew after changes of the text or the switches.
function write() {
  if (refusesNumbers('write-problem')) {
    return;
  }
  if (tokens.length > 0 && (begun !== session.text || written !== intervention())) {
    clear();
  }
  goOn();
}

function onKey(event) {
  if (session.part !== 'write') {
    return;
  }
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    write();
  } else if (event.key === 'Escape' && controller) {
    stop();
  }
}

// The server decodes: it omits special tokens and the blank before the first word.
async function keep(useText) {
  try {
    useText((await ask('/detokenize', {model: session.model, tokens: tokens.map(({id}) => id)})).content);
  } catch (error) {
    byId('write-problem').textContent = `${say('failed')} ${error.message}`;
  }
}

// `release` removes all switches.
export function openWriting(useText, release) {
  byId('go').addEventListener('click', write);
  addEventListener('keydown', onKey);
  byId('stop').addEventListener('click', stop);
  byId('clear').addEventListener('click', clear);
  byId('keep').addEventListener('click', () => keep(useText));
  byId('write-release').addEventListener('click', release);
  byId('numbers').addEventListener('click', () => {
    const isOn = byId('written').classList.toggle('with-numbers');
    byId('numbers').ariaPressed = String(isOn);
  });
  listenToTokens();
  listenToChoices();
  listen(['changes', 'text', 'part', 'model'], showSwitches);
  listen(['model'], clear);
  listen(['part'], closeChoices);
}
