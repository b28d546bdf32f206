// Layout of a heat map: cells, labels and axes.
import {isBlank} from './weights.js';

// Returns the tokens [begin, end) under each of `size` pixels. A pixel that covers several tokens
// shows their largest weight, so that a thin diagonal stays visible.
export function pixelTokens(count, size) {
  return Array.from({length: size}, (_, pixel) => {
    const begin = Math.floor(pixel * count / size);
    const end = size >= count ? begin + 1 : Math.ceil((pixel + 1) * count / size);
    return [begin, end];
  });
}

export const fontOf = (size, weight = 400) =>
  `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

export function fitText(context, text, width) {
  if (context.measureText(text).width <= width) {
    return text;
  }
  const points = Array.from(text);
  while (points.length > 0 && context.measureText(`${points.join('')}…`).width > width) {
    points.pop();
  }
  return `${points.join('')}…`;
}

// Returns the width of a label beside the cells, reduced if the cells then have room for values.
export function labelRoom(count, box) {
  const usual = box < 520 ? 64 : 84;
  const left = box - 34 - count * 27;
  return left < 40 ? usual : Math.min(usual, left);
}

// Returns round numbers in a range: multiples of 1, 2 or 5 times a power of ten, at most `steps` of
// them apart.
export function ticksBetween(low, high, steps) {
  const raw = (high - low) / steps || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

// Returns the geometry of a heat map in CSS pixels, for a `box` wide and `room` high area. The
// upper left corner of the cells is (left, top); labels are on the left and below. labels is null
// if only some positions are labelled.
export function measurePlot(context, doc, box, room) {
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

// Returns the cell of a heat map under a pointer event, or null outside the cells.
export function cellAt(event, plot) {
  const box = event.currentTarget.getBoundingClientRect();
  const key = Math.floor((event.clientX - box.left - plot.left) / plot.cell);
  const query = Math.floor((event.clientY - box.top - plot.top) / plot.cell);
  const {count} = plot.doc;
  const inside = key >= 0 && key < count && query >= 0 && query < count;
  return inside && !isBlank(plot.doc, query, key) ? {query, key} : null;
}

export function sizeCanvas(canvas, plot, ratio) {
  const width = plot.left + plot.side + 2;
  const height = plot.top + plot.side + plot.below;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}
