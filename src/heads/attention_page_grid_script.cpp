#include "heads/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const thumbnails = new Map();  // head -> its button
const places = new Map();      // head -> its square in the navigator
let current = heads[0];        // takes the keyboard focus in the overview

const headTitle = (head) => `Layer ${head.layer} · Head ${head.head}`;

function buildGrid() {
  const grid = byId('grid');
  // As large as the window's height allows for all layers, but never too small to recognise.
  const largest = `clamp(60px, calc((100vh - 270px) / ${data.layers.length}), 260px)`;
  grid.style.gridTemplateColumns =
    `max-content repeat(${columns.length}, minmax(52px, ${largest}))`;
  grid.append(element('span', {className: 'layer'}), ...columns.map((head) =>
    element('span', {textContent: `Head ${head}`})));
  data.layers.forEach((layer, row) => {
    const label = element('span', {className: 'layer', textContent: `Layer ${layer.layer}`});
    label.style.gridArea = `${row + 2} / 1`;
    grid.append(label);
  });
  for (const head of heads) {
    const button = element('button', {type: 'button', title: `Head ${head.name}`},
                           element('canvas', {ariaHidden: 'true'}));
    button.setAttribute('aria-label', headTitle(head));
    button.style.gridArea = `${head.row + 2} / ${head.column + 2}`;
    button.addEventListener('click', () => openHead(head));
    thumbnails.set(head, button);
    grid.append(button);
  }
}

function buildNavigator() {
  byId('navigator').classList.toggle('fine', Math.max(columns.length, data.layers.length) > 6);
  byId('navigator').style.gridTemplateColumns = `repeat(${columns.length}, max-content)`;
  for (const head of heads) {
    const button = element('button', {type: 'button', tabIndex: -1, title: `Head ${head.name}`});
    button.setAttribute('aria-label', headTitle(head));
    button.style.gridArea = `${head.row + 1} / ${head.column + 1}`;
    button.addEventListener('click', () => openHead(head, true));
    places.set(head, button);
    byId('navigator').append(button);
  }
}

// Draws the thumbnails a few at a time, so that a large model's page answers at once.
let drawing = 0;
function drawThumbnails() {
  const turn = ++drawing;
  const waiting = [...heads];
  const next = () => {
    const end = performance.now() + 12;
    while (turn === drawing && waiting.length > 0 && performance.now() < end) {
      const head = waiting.shift();
      drawThumbnail(thumbnails.get(head).firstChild, shownWeights(head));
    }
    if (turn === drawing && waiting.length > 0) {
      requestAnimationFrame(next);
    }
  };
  next();
}

function makeCurrent(head) {
  thumbnails.get(current).tabIndex = -1;
  current = head;
  heads.forEach((other) => { thumbnails.get(other).tabIndex = other === head ? 0 : -1; });
}

function showFigures() {
  byId('figures').replaceChildren(...summary(view.weights)
    .filter(([, value]) => value !== null)
    .map(([name, value, unit]) => element('div', {title: 'Mean over the queries'},
      element('dt', {textContent: name}),
      element('dd', {textContent: value.toFixed(2) + (unit ?? '')}))));
}

function drawDetail() {
  view.weights = shownWeights(view.head);
  drawMap();
  showToken();
  showFigures();
  fillTable();
}

function draw() {
  hideTip();
  drawLegend();
  if (view.head === null) {
    drawThumbnails();
  } else {
    drawDetail();
  }
}

// Opens a head; `moving` from another one keeps the place in the browser's history.
function openHead(head, moving = false) {
  const first = view.head === null;
  view.head = head;
  view.hovered = null;
  makeCurrent(head);
  places.forEach((place, other) => place.setAttribute('aria-current', other === head));
  byId('overview').hidden = true;
  byId('detail').hidden = false;
  byId('name').textContent = headTitle(head);
  hideTip();
  drawDetail();
  announce();
  writeAddress(moving);
  if (first) {
    scrollTo(0, 0);
    byId('name').focus({preventScroll: true});
    scrollToToken();
  }
}

function closeHead() {
  view.head = view.weights = null;
  byId('detail').hidden = true;
  byId('overview').hidden = false;
  hideTip();
  drawThumbnails();
  writeAddress(false);
  thumbnails.get(current).focus();
}

// The address names what is shown, so that a link leads back to it: "#2.3/17/receives".
function writeAddress(replace) {
  let address = '#';
  if (view.head !== null) {
    address += view.head.name;
    address += view.token !== count - 1 || view.direction !== 'gives' ? `/${view.token}` : '';
    address += view.direction !== 'gives' ? '/receives' : '';
  }
  if (address === (location.hash || '#')) {
    return;
  }
  try {
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
  } catch {
    // Previews in a sandbox allow no history; the page works without.
  }
}

function readAddress() {
  const match = /^#(\d+\.\d+)(?:\/(\d+))?(\/receives)?$/.exec(location.hash);
  const head = match && heads.find((candidate) => candidate.name === match[1]);
  if (!head) {
    if (view.head !== null) {
      closeHead();
    }
    return;
  }
  const token = Number(match[2] ?? count - 1);
  view.token = Math.min(token, count - 1);
  setDirection(match[3] ? 'receives' : 'gives');
  openHead(head, true);
}

function setDirection(direction) {
  view.direction = direction;
  for (const name of ['gives', 'receives']) {
    byId(name).setAttribute('aria-pressed', name === direction);
  }
}

function setRoot(root) {
  view.root = root;
  byId('root').setAttribute('aria-pressed', root);
  byId('linear').setAttribute('aria-pressed', !root);
}
)js";

}  // namespace

std::string_view attention_page_grid_script() { return kScript; }

}  // namespace headlight
