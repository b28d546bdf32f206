#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const kTabs = ['model', 'head', 'neuron', 'grid'];

const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function showChoices() {
  for (const tab of kTabs) {
    byId(`tab-${tab}`).setAttribute('aria-selected', tab === view.tab);
    byId(`tab-${tab}`).tabIndex = tab === view.tab ? 0 : -1;
  }
  byId('document').value = view.doc;
  byId('beside').value = view.beside;
  const doc = documents[view.doc];
  byId('counts').textContent = `Attention of ${plural(doc.heads.length, 'head')} in ` +
    `${plural(doc.layers.length, 'layer')} over ${plural(doc.count, 'token')}`;
}

// Lets the keyboard enter the thumbnails at the current head.
function makeCurrent() {
  for (const [head, button] of thumbnails) {
    button.tabIndex = head.name === current().name ? 0 : -1;
  }
}

function openTab(tab) {
  view.tab = tab;
  view.open = false;
  render();
  writeAddress(false);
}

// Opens a head in the model view.
function openHead(head) {
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

function closeHead() {
  view.open = false;
  render();
  writeAddress(false);
  thumbnails.get(current())?.focus();
}

// Shows another head in the same view; keeps the place in the browser's history.
function goToHead(head) {
  view.head = head.name;
  render();
  panes.forEach((pane) => pane.scroll?.());
  announce();
  writeAddress(true);
}

// The address names what is shown, so that a link leads back to it.
function writeAddress(replace) {
  let address = `#${view.tab}`;
  if (view.tab !== 'model' || view.open) {
    address += `/${current().name}`;
    const turned = view.direction === 'receives' && ['model', 'head'].includes(view.tab);
    if (view.token !== null || turned) {
      address += `/${focusToken(documents[view.doc])}`;
    }
    address += turned ? '/receives' : '';
  }
  address += view.doc > 0 ? `&doc=${view.doc}` : '';
  address += view.beside !== data.beside ? `&beside=${view.beside}` : '';
  if (address === location.hash) {
    return;
  }
  try {
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
  } catch {
    // Previews in a sandbox allow no history; the page works without.
  }
}

function readAddress() {
  const form = /^#(model|head|neuron|grid)?\/?(\d+\.\d+)?(?:\/(\d+))?(\/receives)?(&.*)?$/;
  const [, tab, head, token, receives, choices] = form.exec(location.hash) ?? [];
  const choice = (name, least, otherwise) => {
    const value = Number(new URLSearchParams(choices ?? '').get(name) ?? otherwise);
    return Number.isInteger(value) && value >= least && value < documents.length ? value
                                                                                 : otherwise;
  };
  view.doc = choice('doc', 0, 0);
  view.beside = choice('beside', -1, data.beside);
  view.tab = tab ?? (head ? 'model' : data.view);
  const known = documents[view.doc].byName.has(head);
  view.head = known ? head : current().name;
  view.open = view.tab === 'model' && known;
  view.token = token === undefined ? null : Math.min(Number(token), longest - 1);
  view.direction = view.kept = receives ? 'receives' : 'gives';
  render();
  panes.forEach((pane) => pane.scroll?.());
}

// The nearest head in a direction, or the same one at the border.
function neighbour(head, key) {
  const sideways = key === 'ArrowLeft' || key === 'ArrowRight';
  const step = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1;
  const ahead = head.doc.heads.filter((other) => sideways
    ? other.row === head.row && (other.column - head.column) * step > 0
    : (other.row - head.row) * step > 0);
  const distance = (other) => Math.abs(other.column - head.column) +
    Math.abs(other.row - head.row) * 10000;
  return ahead.sort((a, b) => distance(a) - distance(b))[0] ?? head;
}

function moveHead(key) {
  const next = neighbour(document.activeElement?.head ?? current(), key);
  if (view.tab === 'model' && !view.open) {
    view.head = next.name;
    makeCurrent();
    thumbnails.get(next).focus();
  } else if (next !== current()) {
    goToHead(next);
  }
}

// In a list of tokens the arrows choose one; true when the key was used.
function tokenKey(key, vertical) {
  const token = focusToken(documents[view.doc]);
  const last = Math.max(...panes.map(({doc}) => doc.count)) - 1;
  const [before, after] = vertical ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight'];
  const target = {[before]: token - 1, [after]: token + 1, Home: 0, End: last}[key];
  if (target !== undefined) {
    chooseToken(target);
  }
  return target !== undefined || /^Arrow/.test(key);
}

function tabKey(key) {
  const step = {ArrowLeft: -1, ArrowRight: 1}[key];
  if (step) {
    openTab(kTabs[(kTabs.indexOf(view.tab) + step + kTabs.length) % kTabs.length]);
    byId(`tab-${view.tab}`).focus();
  }
  return step !== undefined;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey ||
      event.target.tagName === 'SELECT') {
    return;
  }
  const box = event.target.closest?.('[role=listbox]');
  const tab = event.target.closest?.('[role=tab]');
  if (box?.classList.contains('tokens')) {
    view.kept = box.classList.contains('left') ? 'gives' : 'receives';
    setDirection(view.kept);
  }
  if (event.key === 'Escape') {
    escape();
  } else if (box ? tokenKey(event.key, box.classList.contains('tokens'))
                 : tab && tabKey(event.key)) {
    event.preventDefault();
  } else if (/^Arrow/.test(event.key) && !tab) {
    moveHead(event.key);
    event.preventDefault();
  } else if (/^[1-4]$/.test(event.key)) {
    openTab(kTabs[Number(event.key) - 1]);
  }
}

// Gives up the chosen token of the head view; closes the head of the model view.
function escape() {
  if (view.tab === 'head' && view.token !== null) {
    view.token = null;
    showToken();
    writeAddress(true);
  } else if (view.tab === 'model' && view.open) {
    closeHead();
  }
}

function buildPickers() {
  byId('pickers').hidden = documents.length === 1;
  documents.forEach((doc, i) => {
    const name = `${i + 1}. ${documentName(doc)}`;
    byId('document').append(option(i, name, i === view.doc));
    byId('beside').append(option(i, name, i === view.beside));
  });
  for (const [id, key] of [['document', 'doc'], ['beside', 'beside']]) {
    byId(id).addEventListener('change', () => {
      view[key] = Number(byId(id).value);
      view.head = current().name;
      render();
      writeAddress(false);
    });
  }
}

function redraw() {
  decoded.clear();
  render();
}

function listen() {
  kTabs.forEach((tab) => byId(`tab-${tab}`).addEventListener('click', () => openTab(tab)));
  byId('linear').addEventListener('click', () => { setRoot(false); render(); });
  byId('root').addEventListener('click', () => { setRoot(true); render(); });
  byId('hide-first').addEventListener('click', () => {
    view.hideFirst = !view.hideFirst;
    byId('hide-first').setAttribute('aria-pressed', view.hideFirst);
    byId('note').hidden = !view.hideFirst;
    redraw();
  });
  addEventListener('keydown', onKey);
  addEventListener('hashchange', readAddress);
  addEventListener('scroll', hideTip, {passive: true});
  darkGround.addEventListener('change', render);
  let width = innerWidth;
  addEventListener('resize', () => {
    // Phones resize the height whenever their address bar slides away.
    if (innerWidth !== width) {
      width = innerWidth;
      render();
    }
  });
}

byId('hide-first').disabled = longest === 1;
byId('precision').textContent = data.bits === 16
  ? 'Weights are stored as 16-bit integers, in steps of 1/65535: before any rescaling, a shown ' +
    'weight is within 0.00001 of the model’s.'
  : 'To keep this page small, weights are stored as 8-bit square roots: before any rescaling, a ' +
    'shown weight w is within √w/255 of the model’s, 0.004 at most.';
buildPickers();
setRoot(view.root);
listen();
readAddress();
document.documentElement.dataset.ready = Math.round(performance.now());
)js";

}  // namespace

std::string_view attention_page_control_script() { return kScript; }

}  // namespace headlight
