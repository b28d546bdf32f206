#include "heads/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
// The nearest head in a direction, or the same one at the border.
function neighbour(head, key) {
  const sideways = key === 'ArrowLeft' || key === 'ArrowRight';
  const step = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1;
  const ahead = heads.filter((other) => sideways
    ? other.row === head.row && (other.column - head.column) * step > 0
    : (other.row - head.row) * step > 0);
  const distance = (other) => Math.abs(other.column - head.column) +
    Math.abs(other.row - head.row) * 10000;
  return ahead.sort((a, b) => distance(a) - distance(b))[0] ?? head;
}

// In the text the arrows choose tokens; true when the key was used.
function textKey(key) {
  const {token} = view;
  const target = {ArrowLeft: token - 1, ArrowRight: token + 1, Home: 0, End: count - 1}[key];
  if (target === undefined) {
    return key === 'ArrowUp' || key === 'ArrowDown';
  }
  chooseToken(target);
  scrollToToken();
  return true;
}

function moveHead(key) {
  const next = neighbour(view.head ?? current, key);
  if (view.head === null) {
    makeCurrent(next);
    thumbnails.get(next).focus();
  } else if (next !== view.head) {
    openHead(next, true);
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) {
    return;
  }
  if (event.key === 'Escape' && view.head !== null) {
    closeHead();
  } else if (event.target === byId('text') && textKey(event.key)) {
    event.preventDefault();
  } else if (/^Arrow/.test(event.key)) {
    moveHead(event.key);
    event.preventDefault();
  }
}

const tokenOf = (event) => event.target.closest?.('[data-token]')?.dataset.token;

function hoverToken(token) {
  if (token !== view.hovered) {
    view.hovered = token;
    showToken();
  }
}

function hoverCell(event) {
  const cell = cellAt(event);
  drawMarks(cell);
  if (cell === null) {
    hideTip();
  } else {
    showTip(event, cell);
  }
}

function listen() {
  const text = byId('text');
  text.addEventListener('pointerover', (event) => {
    const token = tokenOf(event);
    if (event.pointerType === 'mouse') {
      hoverToken(token === undefined ? null : Number(token));
    }
  });
  text.addEventListener('pointerleave', () => hoverToken(null));
  text.addEventListener('click', (event) => {
    const token = tokenOf(event);
    if (token !== undefined) {
      chooseToken(Number(token));
    }
  });
  const marks = byId('marks');
  marks.addEventListener('pointermove', hoverCell);
  marks.addEventListener('pointerdown', hoverCell);
  marks.addEventListener('pointerleave', (event) => {
    // A finger leaves as soon as it has touched; what it asked for stays.
    if (event.pointerType !== 'touch') {
      hideTip();
      drawMarks(null);
    }
  });
  marks.addEventListener('click', (event) => {
    const cell = cellAt(event);
    if (cell !== null) {
      chooseToken(view.direction === 'gives' ? cell.query : cell.key);
      drawMarks(cell);
    }
  });
  byId('back').addEventListener('click', closeHead);
  byId('table-box').addEventListener('toggle', fillTable);
  addEventListener('keydown', onKey);
  addEventListener('hashchange', readAddress);
  addEventListener('scroll', hideTip, {passive: true});
  listenToControls();
}

function listenToControls() {
  for (const direction of ['gives', 'receives']) {
    byId(direction).addEventListener('click', () => {
      setDirection(direction);
      chooseToken(view.token);
    });
  }
  byId('linear').addEventListener('click', () => { setRoot(false); draw(); });
  byId('root').addEventListener('click', () => { setRoot(true); draw(); });
  byId('hide-first').addEventListener('click', () => {
    view.hideFirst = !view.hideFirst;
    byId('hide-first').setAttribute('aria-pressed', view.hideFirst);
    byId('note').hidden = !view.hideFirst;
    draw();
  });
  darkGround.addEventListener('change', draw);
  let width = innerWidth;
  addEventListener('resize', () => {
    // Phones resize the height whenever their address bar slides away.
    if (innerWidth !== width) {
      width = innerWidth;
      draw();
    }
  });
}

buildGrid();
buildNavigator();
byId('text').append(...tokenNodes);
byId('hide-first').disabled = count === 1;
setRoot(view.root);
setDirection('gives');
makeCurrent(current);
listen();
readAddress();
draw();
)js";

}  // namespace

std::string_view attention_page_control_script() { return kScript; }

}  // namespace headlight
