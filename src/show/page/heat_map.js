// Draws the weights of a head as a heat map.
import {drawAxes} from './axes.js';
import {inkOn, level, palette} from './colours.js';
import {fontOf, measurePlot, pixelTokens, sizeCanvas} from './heat_map_layout.js';
import {isBlank, numberText, shownWeights} from './weights.js';

export function largestWeight(weights, count, [firstQuery, endQuery], [firstKey, endKey]) {
  let largest = 0;
  for (let query = firstQuery; query < endQuery; ++query) {
    for (let key = firstKey; key < endKey; ++key) {
      largest = Math.max(largest, weights[query * count + key]);
    }
  }
  return largest;
}

// Draws the weights [T, T] as a square with sides of `size` pixels.
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

// Clears gaps of `thickness` pixels between the cells.
function drawGaps(context, count, size, thickness, left = 0, top = 0) {
  for (let i = 1; i < count; ++i) {
    const at = Math.round(i * size / count);
    context.clearRect(left + at, top, thickness, size);
    context.clearRect(left, top + at, size, thickness);
  }
}

export function drawThumbnail(canvas, head) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const size = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.width = canvas.height = size;
  const context = canvas.getContext('2d');
  drawCells(context, head, size);
  if (size / head.doc.count >= 7 * ratio) {
    drawGaps(context, head.doc.count, size, Math.round(ratio));
  }
}

// Writes the weights into the cells.
function drawValues(context, plot, head) {
  const {count} = head.doc;
  const weights = shownWeights(head);
  const letters = Math.max(4, numberText(1).length);
  context.font = fontOf(Math.min(14, plot.cell * 1.44 / letters));
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let query = 0; query < count; ++query) {
    for (let key = 0; key < count; ++key) {
      if (!isBlank(head.doc, query, key)) {
        const weight = weights[query * count + key];
        context.fillStyle = inkOn(level(weight));
        context.globalAlpha = weight < 0.005 ? 0.4 : 1;
        context.fillText(numberText(weight), plot.left + (key + 0.5) * plot.cell,
                         plot.top + (query + 0.5) * plot.cell + 0.5);
      }
    }
  }
  context.globalAlpha = 1;
}

// Draws a head as a heat map with axes, and with values if they fit. Returns its geometry.
export function drawPlot(canvas, head, box, room) {
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
  if (plot.cell >= 6 * Math.max(4, numberText(1).length)) {
    drawValues(context, plot, head);
  }
  drawAxes(context, plot);
  return plot;
}
