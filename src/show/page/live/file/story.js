// Presentation: the steps of a story, one at a time, each with one view of the page.
import {byId, element} from '../../dom.js';
import {linkLanguage, openState} from '../open.js';
import {changed, session, stepQuery} from '../session.js';
import {say} from '../../words.js';

const kKeys = {ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1};
let story = null;
let nodes = null;  // elements that show a step
let last = 1;      // step before the whole page

// Returns the step of an address, from 1; 0: the page without the story.
export function stepOf(query, count) {
  const step = Number(new URLSearchParams(query).get('step') ?? 1);
  return Number.isInteger(step) && step >= 0 && step <= count ? step : 1;
}

// Returns the query of a step's address with its number, and the language of the current query.
export function stateQuery(address, step, query) {
  const all = new URLSearchParams(address.split('#')[0]);
  new URLSearchParams(stepQuery(step, query)).forEach((value, name) => all.set(name, value));
  return all.toString();
}

const fragmentOf = (address) => address.includes('#') ? address.slice(address.indexOf('#')) : '';

// Shows the heading and the sentences of the current step.
function showStep() {
  const {step} = session;
  document.body.classList.toggle('story', step > 0);
  document.body.classList.toggle('switching', step > 0 && /[?&]changes=/.test(story.steps[step - 1].address));
  nodes.box.hidden = step === 0;
  nodes.back.hidden = step !== 0;
  if (step > 0) {
    const {title, text} = story.steps[step - 1];
    nodes.title.textContent = title;
    nodes.text.textContent = text;
    nodes.place.textContent = `${step} / ${story.steps.length}`;
    nodes.previous.disabled = step === 1;
    nodes.next.disabled = step === story.steps.length;
  }
}

// Opens a step and its state. `step` 0 shows the whole page with the current state. `isBack`: the
// browser has gone to the step's address.
function openStep(step, isBack = false) {
  if (step === session.step || step < 0 || step > story.steps.length) {
    return;
  }
  last = session.step || last;
  session.step = step;
  showStep();
  if (step === 0) {
    changed('part');
    return;
  }
  const {address} = story.steps[step - 1];
  session.part = new URLSearchParams(address.split('#')[0]).get('part') ?? session.parts[0];
  try {
    history[isBack ? 'replaceState' : 'pushState']({part: session.part, step}, '',
      `${location.pathname}?${stepQuery(step, location.search)}${fragmentOf(address)}`);
  } catch {
    // Browsers refuse frequent changes. The next step writes the whole address.
  }
  changed('selection');
  openState(address.split('#')[0]);
}

const button = (id, className, step) =>
  element('button', {type: 'button', id, className, textContent: say(id), onclick: () => openStep(step())});

// Returns a link to the other language of the page.
function languageLink() {
  const link = byId('language').cloneNode(true);
  link.id = 'story-language';
  linkLanguage(link);
  return link;
}

function buildBox(hasLanguages) {
  nodes = {
    title: element('h1', {id: 'story-title'}),
    text: element('p', {id: 'story-text'}),
    place: element('span', {id: 'story-place', className: 'muted'}),
    previous: button('story_previous', 'primary', () => session.step - 1),
    next: button('story_next', 'primary', () => session.step + 1),
    back: button('story_back', 'quiet', () => last),
  };
  nodes.box = element('section', {id: 'story', ariaLabel: story.title},
    element('div', {className: 'bar-row muted'}, element('p', {textContent: story.title}), ...hasLanguages ? [languageLink()] : []),
    element('div', {role: 'status'}, nodes.title, nodes.text),
    element('div', {className: 'bar-row'}, nodes.previous, nodes.place, nodes.next,
      button('story_leave', 'quiet', () => 0)));
  byId('parts').closest('.choices').before(nodes.box);
  byId('link').before(nodes.back);
}

// Arrow keys move unless the focus is where they move something else.
function onStoryKey(event) {
  const {key, target} = event;
  const isUsed = /^Arrow/.test(key)
    ? target.closest?.('select, input, textarea, #stage, [role=tablist], [role=grid], #board, #surprise, [data-token]')
    : target.closest?.('select, input, textarea');
  if (session.step > 0 && key in kKeys && !isUsed && !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    event.stopImmediatePropagation();
    openStep(session.step + kKeys[key]);
  }
}

// Prepares the story: call before the page opens, which then reads the step's state from the address.
// `hasLanguages`: the page has the story in both languages.
export function openStory(given, hasLanguages) {
  story = given;
  buildBox(hasLanguages);
  session.step = stepOf(location.search, story.steps.length);
  showStep();
  if (session.step > 0) {
    const chosen = story.steps[session.step - 1];
    const query = stateQuery(chosen.address, session.step, location.search);
    history.replaceState({part: null, step: session.step}, '',
      `${location.pathname}?${query}${location.hash || fragmentOf(chosen.address)}`);
  }
  addEventListener('keydown', onStoryKey, {capture: true});
  addEventListener('popstate', () => openStep(stepOf(location.search, story.steps.length), true));
}
