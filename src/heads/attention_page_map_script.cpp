#include "heads/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
// The tokens [begin, end) under each of `size` pixels. Where a pixel covers several tokens it shows
// their largest weight, so that a thin diagonal does not fade away.
function pixelTokens(size) {
  return Array.from({length: size}, (_, pixel) => {
    const begin = Math.floor(pixel * count / size);
    const end = size >= count ? begin + 1 : Math.ceil((pixel + 1) * count / size);
    return [begin, end];
  });
}

function largestWeight(weights, [firstQuery, endQuery], [firstKey, endKey]) {
  let largest = 0;
  for (let query = firstQuery; query < endQuery; ++query) {
    for (let key = firstKey; key < endKey; ++key) {
      largest = Math.max(largest, weights[query * count + key]);
    }
  }
  return largest;
}

// Draws the weights [T, T] as a square of `size` pixels.
function drawCells(context, weights, size, left = 0, top = 0) {
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = palette().pixels;
  const spans = pixelTokens(size);
  for (let y = 0; y < size; ++y) {
    for (let x = 0; x < size; ++x) {
      if (!isBlank(spans[y][1] - 1, spans[x][0])) {
        pixels[y * size + x] = colours[level(largestWeight(weights, spans[y], spans[x]))];
      }
    }
  }
  context.putImageData(image, left, top);
}

// Opens gaps of one pixel between cells that are large enough to be told apart.
function drawGaps(context, size, thickness, left = 0, top = 0) {
  for (let i = 1; i < count; ++i) {
    const at = Math.round(i * size / count);
    context.clearRect(left + at, top, thickness, size);
    context.clearRect(left, top + at, size, thickness);
  }
}

function drawThumbnail(canvas, weights) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const size = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.width = canvas.height = size;
  const context = canvas.getContext('2d');
  drawCells(context, weights, size);
  if (size / count >= 7 * ratio) {
    drawGaps(context, size, Math.round(ratio));
  }
}

// Geometry of the large map, in CSS pixels: the cells form a square with its upper left corner at
// (left, top); labels stand to the left and below.
const plot = {side: 0, left: 0, top: 8, below: 0, cell: 0, font: 0, labels: null, keys: 'flat'};

const fontOf = (size, weight = 400) =>
  `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

function fitText(context, text, width) {
  if (context.measureText(text).width <= width) {
    return text;
  }
  const points = Array.from(text);
  while (points.length > 0 && context.measureText(`${points.join('')}…`).width > width) {
    points.pop();
  }
  return `${points.join('')}…`;
}

// Chooses the size of the map, and whether all labels or only some positions are written.
function measurePlot(context) {
  const box = byId('map').clientWidth;
  const room = Math.max(300, Math.min(box, innerHeight - 250));
  const widestAllowed = box < 520 ? 64 : 104;
  const guess = (Math.min(box, room + 60) - 70) / count;
  plot.font = Math.max(9, Math.min(13, guess * 0.82));
  context.font = fontOf(plot.font);
  plot.labels = guess < 10.5 ? null :
    data.labels.map((label) => fitText(context, label, widestAllowed));
  const texts = plot.labels ?? [String(count)];
  const widest = Math.max(...texts.map((text) => context.measureText(text).width));
  plot.left = Math.ceil(widest) + 30;
  const widestSide = Math.min(box - plot.left - 2, plot.labels ? count * 64 : box);
  plot.side = Math.max(60, Math.floor(Math.min(widestSide, room)));
  plot.cell = plot.side / count;
  plot.keys = !plot.labels || widest <= plot.cell - 4 ? 'flat' :
    plot.cell >= 30 ? 'slanted' : 'upright';
  const depth = plot.keys === 'flat' ? plot.font :
    plot.keys === 'slanted' ? (widest + plot.font) * 0.72 : widest;
  plot.below = Math.ceil(depth) + 34;
}

// `halo` sets the text apart from what lies under it.
function write(context, text, x, y, halo) {
  if (halo) {
    context.strokeText(text, x, y);
  }
  context.fillText(text, x, y);
}

function writeKeyLabel(context, key, halo = false) {
  context.save();
  context.translate(plot.left + (key + 0.5) * plot.cell, plot.top + plot.side + 9);
  context.textAlign = plot.keys === 'flat' ? 'center' : 'right';
  context.textBaseline = plot.keys === 'flat' ? 'top' : 'middle';
  context.rotate({flat: 0, slanted: -Math.PI / 4, upright: -Math.PI / 2}[plot.keys]);
  write(context, plot.labels ? plot.labels[key] : String(key), 0, 0, halo);
  context.restore();
}

function writeQueryLabel(context, query, halo = false) {
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  write(context, plot.labels ? plot.labels[query] : String(query), plot.left - 8,
        plot.top + (query + 0.5) * plot.cell, halo);
}

// Positions 0, 10, 20, ... with a round step and at most about seven of them.
function tickPositions() {
  let step = 1;
  for (let i = 0; count / step > 7; ++i) {
    step *= i % 3 === 1 ? 2.5 : 2;
  }
  return Array.from({length: Math.ceil(count / step)}, (_, i) => i * step);
}

function drawAxes(context) {
  context.fillStyle = cssValue(plot.labels ? '--ink' : '--muted');
  context.font = fontOf(plot.font);
  const shown = plot.labels ? plot.labels.keys() : tickPositions();
  for (const i of shown) {
    writeQueryLabel(context, i);
    writeKeyLabel(context, i);
  }
  context.fillStyle = context.strokeStyle = cssValue('--muted');
  context.font = fontOf(12);
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  context.fillText('Key', plot.left + plot.side / 2, plot.top + plot.side + plot.below - 5);
  context.translate(12, plot.top + plot.side / 2);
  context.rotate(-Math.PI / 2);
  context.fillText('Query', 0, 0);
}

// The weights themselves, where the cells have room for two decimals.
function drawValues(context) {
  context.font = fontOf(Math.min(14, plot.cell * 0.33));
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let query = 0; query < count; ++query) {
    for (let key = 0; key < count; ++key) {
      if (!isBlank(query, key)) {
        const weight = view.weights[query * count + key];
        context.fillStyle = inkOn(level(weight));
        context.globalAlpha = weight < 0.005 ? 0.4 : 1;
        context.fillText(weight.toFixed(2), plot.left + (key + 0.5) * plot.cell,
                         plot.top + (query + 0.5) * plot.cell + 0.5);
      }
    }
  }
  context.globalAlpha = 1;
}

function sizeCanvas(canvas, ratio) {
  const width = plot.left + plot.side + 2;
  const height = plot.top + plot.side + plot.below;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

// Puts the navigator into the blank half of a causal map, where it costs no room, if it fits.
function placeNavigator() {
  const navigator = byId('navigator');
  const {width, height} = navigator.getBoundingClientRect();
  const corner = data.causal && width + height + 40 <= plot.side;
  navigator.classList.toggle('corner', corner);
  const place = byId(corner ? 'map' : 'bar');
  // Moving a node takes the focus from its buttons.
  if (navigator.parentNode !== place) {
    place.append(navigator);
  }
  navigator.style.right = `${byId('map').clientWidth - plot.left - plot.side}px`;
}

function drawMap() {
  const ratio = devicePixelRatio || 1;
  const canvas = byId('heat');
  const context = canvas.getContext('2d');
  measurePlot(context);
  placeNavigator();
  sizeCanvas(canvas, ratio);
  sizeCanvas(byId('marks'), ratio);
  const size = Math.round(plot.side * ratio);
  const left = Math.round(plot.left * ratio);
  const top = Math.round(plot.top * ratio);
  drawCells(context, view.weights, size, left, top);
  if (plot.cell >= 9) {
    drawGaps(context, size, Math.max(1, Math.round(ratio)), left, top);
  }
  context.scale(ratio, ratio);
  if (plot.cell >= 34) {
    drawValues(context);
  }
  drawAxes(context);
  canvas.setAttribute('aria-label', `Heat map of head ${view.head.name}; its strongest links are ` +
    'in the table below');
  drawMarks(null);
}

// Names the row and column of the cell under the pointer, over the labels of the axes.
function drawMarkedLabels(context, cell) {
  context.lineWidth = 6;
  context.lineJoin = 'round';
  context.strokeStyle = cssValue('--ground');
  context.fillStyle = cssValue('--accent');
  context.font = fontOf(plot.labels ? plot.font : 12, 600);
  writeQueryLabel(context, cell.query, true);
  writeKeyLabel(context, cell.key, true);
}

// Frames the row of the chosen query (or the column of the chosen key) and, when `cell` is given,
// the row and column of that cell.
function drawMarks(cell) {
  const canvas = byId('marks');
  const ratio = canvas.width / canvas.clientWidth || 1;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  context.strokeStyle = cssValue('--accent');
  const frame = (x, y, width, height) =>
    context.strokeRect(plot.left + x - 0.5, plot.top + y - 0.5, width + 1, height + 1);
  const c = plot.cell;
  const row = (query) => frame(0, query * c, data.causal ? (query + 1) * c : plot.side, c);
  const column = (key) =>
    frame(key * c, data.causal ? key * c : 0, c, data.causal ? plot.side - key * c : plot.side);
  context.lineWidth = 1.25;
  const focus = view.hovered ?? view.token;
  if (cell === null) {
    (view.direction === 'gives' ? row : column)(focus);
    return;
  }
  row(cell.query);
  column(cell.key);
  drawMarkedLabels(context, cell);
}

// The cell under a pointer event, or null outside the cells.
function cellAt(event) {
  const box = byId('marks').getBoundingClientRect();
  const key = Math.floor((event.clientX - box.left - plot.left) / plot.cell);
  const query = Math.floor((event.clientY - box.top - plot.top) / plot.cell);
  const inside = key >= 0 && key < count && query >= 0 && query < count;
  return inside && !isBlank(query, key) ? {query, key} : null;
}
)js";

}  // namespace

std::string_view attention_page_map_script() { return kScript; }

}  // namespace headlight
