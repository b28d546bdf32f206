#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
const stage = byId('stage');
const thumbnails = new Map();  // head -> its button, of the documents shown

// Thumbnails are drawn when they come into sight, a few at a time, so that a large model's page
// answers at once.
const waiting = new Set();
let drawing = false;
function drawWaiting() {
  drawing = true;
  const end = performance.now() + 12;
  while (waiting.size > 0 && performance.now() < end) {
    const head = waiting.values().next().value;
    waiting.delete(head);
    if (thumbnails.get(head)?.isConnected) {
      drawThumbnail(thumbnails.get(head).querySelector('canvas'), head);
    }
  }
  drawing = waiting.size > 0;
  if (drawing) {
    requestAnimationFrame(drawWaiting);
  } else {
    document.documentElement.dataset.drawn ??= Math.round(performance.now());
  }
}

const sight = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) {
    if (isIntersecting) {
      sight.unobserve(target);
      waiting.add(target.head);
    }
  }
  if (!drawing && waiting.size > 0) {
    drawWaiting();
  }
}, {rootMargin: '200px'});

function thumbnail(head) {
  const button = element('button', {type: 'button', title: `Head ${head.name}`, head},
                         element('canvas', {ariaHidden: 'true'}));
  const [name, score] = head.score ?? [];
  button.setAttribute('aria-label', headTitle(head) +
    (name ? `, ${name}, score ${score.toFixed(2)}` : ''));
  if (name) {
    button.append(classTag(head));
    button.title += `: ${name} ${score.toFixed(2)}`;
  }
  button.style.gridArea = `${head.row + 2} / ${head.column + 2}`;
  button.addEventListener('click', () => openHead(head));
  thumbnails.set(head, button);
  sight.observe(button);
  return button;
}

function thumbnailGrid(doc) {
  const grid = element('div', {className: 'thumbnails'});
  grid.setAttribute('role', 'group');
  grid.setAttribute('aria-label', `Heads of ${documentName(doc)}, layers as rows`);
  // As large as the window's height allows for all layers, but never too small to recognise.
  const largest = `clamp(60px, calc((100vh - 330px) / ${doc.layers.length}), 260px)`;
  const smallest = doc.heads.some((head) => head.score) ? '72px' : '52px';
  grid.style.gridTemplateColumns =
    `max-content repeat(${doc.columns.length}, minmax(${smallest}, ${largest}))`;
  grid.append(element('span', {className: 'layer'}), ...doc.columns.map((head) =>
    element('span', {textContent: `Head ${head}`})));
  doc.layers.forEach((layer, row) => {
    const label = element('span', {className: 'layer', textContent: `Layer ${layer.layer}`});
    label.style.gridArea = `${row + 2} / 1`;
    grid.append(label);
  });
  grid.append(...doc.heads.map(thumbnail));
  return {doc, head: null, node: element('div', {className: 'scroller'}, grid),
          showToken() {}};
}

// One head as a heat map beside the running text.
function headPane(doc, number, narrow) {
  const head = doc.byName.get(view.head) ?? null;
  const text = textBox(doc, number);
  if (head === null) {
    return {doc, head, node: element('p', {className: 'hint',
      textContent: `No head ${view.head} in this document.`}), showToken() {}};
  }
  const heat = element('canvas', {className: 'heat', role: 'img'});
  heat.setAttribute('aria-label', `Heat map of head ${head.name}; the table below holds its ` +
    'strongest links');
  const marks = element('canvas', {className: 'marks', ariaHidden: 'true'});
  const title = element('h3');
  const list = element('ol', {className: 'links'});
  const map = element('div', {className: 'map'}, heat, marks);
  const node = element('div', {className: narrow ? 'split narrow' : 'split'}, map,
    element('div', {className: 'reading'}, text.node, title, list, linksTable(head)));
  const pane = {doc, head, node, scroll: text.scroll};
  let plot = null;
  pane.draw = () => {
    plot = drawPlot(heat, head, map.clientWidth, Math.max(300, innerHeight - 280));
    if (!narrow && isFine(doc) && doc.causal) {
      placeNavigator(map, plot);
    }
  };
  pane.showToken = () => {
    text.mark();
    colourText(head, text.spans);
    listLinks(head, title, list);
    drawMarks(marks, plot);
  };
  listenToMap(marks, head, () => plot);
  return pane;
}

// A large model's navigator stands in the blank half of a causal map, where it costs no room.
function placeNavigator(map, plot) {
  const navigator = headNavigator();
  navigator.classList.add('corner');
  map.append(navigator);
  const {width, height} = navigator.getBoundingClientRect();
  navigator.style.right = `${map.clientWidth - plot.left - plot.side}px`;
  if (width + height + 40 > plot.side) {
    navigator.remove();
  }
}

function listenToMap(marks, head, plotNow) {
  const hover = (event) => {
    const cell = cellAt(event, plotNow());
    drawMarks(marks, plotNow(), cell);
    if (cell === null) {
      hideTip();
    } else {
      showCellTip(event, head, cell);
    }
  };
  marks.addEventListener('pointermove', hover);
  marks.addEventListener('pointerdown', hover);
  marks.addEventListener('pointerleave', (event) => {
    // A finger leaves as soon as it has touched; what it asked for stays.
    if (event.pointerType !== 'touch') {
      hideTip();
      drawMarks(marks, plotNow());
    }
  });
  marks.addEventListener('click', (event) => {
    const cell = cellAt(event, plotNow());
    if (cell !== null) {
      chooseToken(view.direction === 'gives' ? cell.query : cell.key);
    }
  });
}

// Means over the queries of a head: how much goes to the token before, the first one and the token
// itself, and how widely a query spreads its weight.
function summary(head) {
  const {count} = head.doc;
  const weights = shownWeights(head);
  const mean = (value) => {
    let sum = 0;
    for (let query = 1; query < count; ++query) {
      sum += value(weights.subarray(query * count, (query + 1) * count), query);
    }
    return count > 1 ? sum / (count - 1) : null;
  };
  const entropy = (row) => row.reduce((sum, p) => p > 0 ? sum - p * Math.log(p) : sum, 0);
  return [
    ['Previous token', mean((row, query) => row[query - 1])],
    ['First token', view.hideFirst ? null : mean((row) => row[0])],
    ['Itself', mean((row, query) => row[query])],
    ['Entropy', mean(entropy), ' nats'],
  ].filter(([, value]) => value !== null);
}

function figuresOf(head) {
  return element('dl', {className: 'figures'}, ...summary(head).map(([name, value, unit]) =>
    element('div', {title: 'Mean over the queries'}, element('dt', {textContent: name}),
      element('dd', {textContent: value.toFixed(2) + (unit ?? '')}))));
}

function buildModelView() {
  if (!view.open) {
    return {panes: shownDocuments().map(thumbnailGrid),
            hint: 'Rows of a map are queries, columns are keys. Choose a head to read it beside ' +
              'the text.'};
  }
  const docs = shownDocuments();
  return {panes: docs.map((doc, i) => headPane(doc, i, docs.length > 1)), tools: headTools()};
}
)js";

}  // namespace

std::string_view attention_page_model_script() { return kScript; }

}  // namespace headlight
