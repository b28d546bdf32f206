// Renders the reader's choices and updates the page when they change.
import {formatAddress, parseAddress} from './address.js';
import {byId, element} from './dom.js';
import {classTag, documentName} from './labels.js';
import {drawLegend} from './legend.js';
import {current, documents, focusToken, kTabs, longest, opening, view} from './state.js';
import {hideTip} from './tip.js';
import {linkWeight, strongest} from './weights.js';
import {say} from './words.js';

// Columns of the active view, one for each document shown. Each has `doc`, `head` (null if the
// document lacks the chosen one), `node` and showToken(), which marks focusToken(). Optional:
// draw(), called once the node is in the page, and scroll(), which brings the token into view.
export let panes = [];

// Result of the active view's builder: `panes` and optionally `tools`, `hint`, close(),
// markCurrent() and focusHead(head).
let built = {panes};

let builders = {};

// Sets the functions that build the views, by tab name.
export const setViews = (views) => { builders = views; };

function columnOf(pane) {
  if (panes.length === 1) {
    return pane.node;
  }
  const title = element('h2', {className: 'document', translate: false},
                        element('bdi', {textContent: documentName(pane.doc)}));
  const tag = view.tab === 'model' && !view.open || !pane.head || pane.doc.index === view.doc ||
    view.tab === 'head' || view.tab === 'grid' ? null : classTag(pane.head);
  return element('section', {}, title, ...[tag].filter(Boolean), pane.node);
}

function showChoices() {
  for (const tab of kTabs) {
    const ariaSelected = tab === view.tab;
    Object.assign(byId(`tab-${tab}`), {ariaSelected, tabIndex: ariaSelected ? 0 : -1});
  }
  byId('document').value = view.doc;
  byId('beside').value = view.beside;
  const doc = documents[view.doc];
  byId('counts').textContent =
    say('counts', {heads: doc.heads.length, layers: doc.layers.length,
                   cells: say(`cells_${doc.unit ?? 'token'}`, {count: doc.count})});
}

// Builds the view of the chosen tab.
export function render() {
  hideTip();
  drawLegend();
  built.close?.();
  view.hovered = null;
  built = builders[view.tab]();
  panes = built.panes;
  const stage = byId('stage');
  document.body.dataset.view = view.tab;
  byId('tools').hidden = !built.tools;
  byId('tools').replaceChildren(...built.tools ?? []);
  stage.className = `view-${view.tab}${panes.length > 1 ? ' pair' : ''}`;
  stage.replaceChildren(...panes.map(columnOf));
  stage.setAttribute('aria-labelledby', `tab-${view.tab}`);
  byId('hint').textContent = built.hint ?? '';
  setDirection(view.direction);
  panes.forEach((pane) => pane.draw?.());
  showToken();
  built.markCurrent?.();
  showChoices();
}

export const showToken = () => panes.forEach((pane) => pane.showToken());

export function setDirection(direction) {
  view.direction = direction;
  for (const name of ['gives', 'receives']) {
    byId(name)?.setAttribute('aria-pressed', name === direction);
  }
}

export function hoverToken(token) {
  if (token !== view.hovered) {
    view.hovered = token;
    showToken();
  }
}

// Announces the result of a choice to screen readers. Hovering is not announced.
export function announce() {
  const told = panes.filter((pane) => pane.head).map(({doc, head}) => {
    const links = strongest(doc.count, (i) => linkWeight(head, i), 3)
      .map(([weight, i]) => say('link_at', {label: doc.labels[i], place: i, weight: weight.toFixed(3)}));
    const token = focusToken(doc);
    const said = say(`announced_${view.direction}`, {head: head.name, token, label: doc.labels[token],
                                                     links: links.join(', ') || say('announced_nothing')});
    return panes.length > 1 ? `${documentName(doc)}, ${said}` : said;
  });
  byId('status').textContent = told.join('; ');
}

// Chooses token `i`; null: none.
export function chooseToken(i) {
  const last = Math.max(...panes.map(({doc}) => doc.count)) - 1;
  view.token = i === null ? null : Math.max(0, Math.min(last, i));
  view.hovered = null;
  showToken();
  panes.forEach((pane) => pane.scroll?.());
  announce();
  writeAddress(true);
}

export function openTab(tab) {
  view.tab = tab;
  view.open = false;
  render();
  writeAddress(false);
}

// Opens a head in the model view.
export function openHead(head) {
  view.head = head.name;
  view.tab = 'model';
  view.open = true;
  render();
  announce();
  writeAddress(false);
  scrollTo(0, 0);
  byId('name').focus({preventScroll: true});
  panes.forEach((pane) => pane.scroll?.());
}

export function closeHead() {
  view.open = false;
  render();
  writeAddress(false);
  focusHead(current());
}

// Moves the keyboard focus to a head, in views that show several heads.
export const focusHead = (head) => built.focusHead?.(head);

// Shows another head in the same view, without a new entry in the browser's history.
export function goToHead(head) {
  view.head = head.name;
  render();
  panes.forEach((pane) => pane.scroll?.());
  announce();
  writeAddress(true);
}

export function writeAddress(replace) {
  const address = formatAddress({...view, head: current().name, chosen: view.token !== null,
                                 token: focusToken(documents[view.doc])}, opening);
  if (address === location.hash) {
    return;
  }
  try {
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
  } catch {
    // Sandboxed previews allow no history; the page works without it.
  }
}

export function readAddress() {
  const wanted = parseAddress(location.hash, documents.length, opening);
  const {tab, doc, beside, direction} = wanted;
  Object.assign(view, {tab, doc, beside, direction, kept: direction});
  const known = documents[view.doc].byName.has(wanted.head);
  view.head = known ? wanted.head : current().name;
  view.open = view.tab === 'model' && known;
  view.token = wanted.token === null ? null : Math.min(wanted.token, longest - 1);
  render();
  panes.forEach((pane) => pane.scroll?.());
}
