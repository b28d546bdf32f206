// Keyboard control of the views.
import {byId} from './dom.js';
import {chooseToken, closeHead, focusHead, goToHead, openTab, panes, setDirection, showToken,
        writeAddress} from './page.js';
import {current, documents, focusToken, kTabs, view} from './state.js';

// Returns the nearest head in the direction of an arrow key, or `head` itself at the border.
export function neighbour(head, key) {
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
    focusHead(next);
  } else if (next !== current()) {
    goToHead(next);
  }
}

// Chooses a token of a list by an arrow, Home or End key. Returns true if the key was used.
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

// Deselects the token of the head view, or closes the head of the model view.
function releaseOrClose() {
  if (view.tab === 'head' && view.token !== null) {
    view.token = null;
    showToken();
    writeAddress(true);
  } else if (view.tab === 'model' && view.open) {
    closeHead();
  }
}

export function onKey(event) {
  // Form fields and elements with data-own-keys handle their keys themselves.
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey ||
      event.target.closest?.('select, input, textarea, [data-own-keys]') ||
      byId('stage')?.checkVisibility() === false) {
    return;
  }
  const box = event.target.closest?.('[role=listbox]');
  const tab = event.target.closest?.('[role=tab]');
  if (box?.classList.contains('tokens')) {
    view.kept = box.classList.contains('left') ? 'gives' : 'receives';
    setDirection(view.kept);
  }
  if (event.key === 'Escape') {
    releaseOrClose();
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
