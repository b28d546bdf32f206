#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
// The tokens [begin, end) under each of `size` pixels. Where a pixel covers several tokens it shows
// their largest weight, so that a thin diagonal does not fade away.
function pixelTokens(count, size) {
  return Array.from({length: size}, (_, pixel) => {
    const begin = Math.floor(pixel * count / size);
    const end = size >= count ? begin + 1 : Math.ceil((pixel + 1) * count / size);
    return [begin, end];
  });
}

function largestWeight(weights, count, [firstQuery, endQuery], [firstKey, endKey]) {
  let largest = 0;
  for (let query = firstQuery; query < endQuery; ++query) {
    for (let key = firstKey; key < endKey; ++key) {
      largest = Math.max(largest, weights[query * count + key]);
    }
  }
  return largest;
}

// Draws the weights [T, T] as a square of `size` pixels.
function drawCells(context, head, size, left = 0, top = 0) {
  const {doc} = head;
  const weights = shownWeights(head);
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = palette().pixels;
  const spans = pixelTokens(doc.count, size);
  for (let y = 0; y < size; ++y) {
    for (let x = 0; x < size; ++x) {
      if (!isBlank(doc, spans[y][1] - 1, spans[x][0])) {
        pixels[y * size + x] =
          colours[level(largestWeight(weights, doc.count, spans[y], spans[x]))];
      }
    }
  }
  context.putImageData(image, left, top);
}

// Opens gaps of one pixel between cells that are large enough to be told apart.
function drawGaps(context, count, size, thickness, left = 0, top = 0) {
  for (let i = 1; i < count; ++i) {
    const at = Math.round(i * size / count);
    context.clearRect(left + at, top, thickness, size);
    context.clearRect(left, top + at, size, thickness);
  }
}

function drawThumbnail(canvas, head) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const size = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.width = canvas.height = size;
  const context = canvas.getContext('2d');
  drawCells(context, head, size);
  if (size / head.doc.count >= 7 * ratio) {
    drawGaps(context, head.doc.count, size, Math.round(ratio));
  }
}

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

// Room for a label beside the cells: if that lets them hold values, somewhat less than usual.
function labelRoom(count, box) {
  const usual = box < 520 ? 64 : 84;
  const left = box - 34 - count * 27;
  return left < 40 ? usual : Math.min(usual, left);
}

// Geometry of a heat map in CSS pixels: the cells form a square with its upper left corner at
// (left, top); labels stand to the left and below. Chooses the size that fits into `box` by `room`,
// and whether all labels or only some positions are written.
function measurePlot(context, doc, box, room) {
  const {count} = doc;
  const plot = {doc, top: 8};
  const guess = (Math.min(box, room + 60) - 70) / count;
  plot.font = Math.max(9, Math.min(13, guess * 0.82));
  context.font = fontOf(plot.font);
  plot.labels = guess < 10.5 ? null :
    doc.labels.map((label) => fitText(context, label, labelRoom(count, box)));
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
  return plot;
}

function sizeCanvas(canvas, plot, ratio) {
  const width = plot.left + plot.side + 2;
  const height = plot.top + plot.side + plot.below;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

// Draws a head as a heat map with axes, and with values where they fit; returns its geometry.
function drawPlot(canvas, head, box, room) {
  const ratio = devicePixelRatio || 1;
  const context = canvas.getContext('2d');
  const plot = measurePlot(context, head.doc, box, room);
  sizeCanvas(canvas, plot, ratio);
  const size = Math.round(plot.side * ratio);
  const left = Math.round(plot.left * ratio);
  const top = Math.round(plot.top * ratio);
  drawCells(context, head, size, left, top);
  if (plot.cell >= 9) {
    drawGaps(context, head.doc.count, size, Math.max(1, Math.round(ratio)), left, top);
  }
  context.scale(ratio, ratio);
  if (plot.cell >= 24) {
    drawValues(context, plot, head);
  }
  drawAxes(context, plot);
  return plot;
}

// The cell of a map under a pointer event, or null outside the cells.
function cellAt(event, plot) {
  const box = event.currentTarget.getBoundingClientRect();
  const key = Math.floor((event.clientX - box.left - plot.left) / plot.cell);
  const query = Math.floor((event.clientY - box.top - plot.top) / plot.cell);
  const {count} = plot.doc;
  const inside = key >= 0 && key < count && query >= 0 && query < count;
  return inside && !isBlank(plot.doc, query, key) ? {query, key} : null;
}

function drawLegend() {
  const canvas = byId('legend');
  const context = canvas.getContext('2d');
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(palette().pixels);
  context.putImageData(image, 0, 0);
  const ticks = view.root ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  byId('ticks').replaceChildren(...ticks.map((weight) => {
    const tick = element('span', {textContent: weight});
    tick.style.left = `${100 * strength(weight)}%`;
    return tick;
  }));
}
)js";

}  // namespace

std::string_view attention_page_map_script() { return kScript; }

}  // namespace headlight
