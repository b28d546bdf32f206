// Draws the axes of a heat map and frames around the selection.
import {cssValue} from './dom.js';
import {fontOf, sizeCanvas, ticksBetween} from './heat_map_layout.js';
import {focusToken, view} from './state.js';
import {say} from './words.js';

// `halo` draws an outline that separates the text from its background.
function write(context, text, x, y, halo) {
  if (halo) {
    context.strokeText(text, x, y);
  }
  context.fillText(text, x, y);
}

function writeKeyLabel(context, plot, key, halo = false) {
  context.save();
  context.translate(plot.left + (key + 0.5) * plot.cell, plot.top + plot.side + 9);
  context.textAlign = plot.keys === 'flat' ? 'center' : 'right';
  context.textBaseline = plot.keys === 'flat' ? 'top' : 'middle';
  context.rotate({flat: 0, slanted: -Math.PI / 4, upright: -Math.PI / 2}[plot.keys]);
  write(context, plot.labels ? plot.labels[key] : String(key), 0, 0, halo);
  context.restore();
}

function writeQueryLabel(context, plot, query, halo = false) {
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  write(context, plot.labels ? plot.labels[query] : String(query), plot.left - 8,
        plot.top + (query + 0.5) * plot.cell, halo);
}

export function drawAxes(context, plot) {
  context.fillStyle = cssValue(plot.labels ? '--ink' : '--muted');
  context.font = fontOf(plot.font);
  const shown = plot.labels ? plot.labels.keys() : ticksBetween(0, plot.doc.count - 1, 7);
  for (const i of shown) {
    writeQueryLabel(context, plot, i);
    writeKeyLabel(context, plot, i);
  }
  context.fillStyle = context.strokeStyle = cssValue('--muted');
  context.font = fontOf(12);
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  context.save();
  context.fillText(say('key'), plot.left + plot.side / 2, plot.top + plot.side + plot.below - 5);
  context.translate(12, plot.top + plot.side / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(say('query'), 0, 0);
  context.restore();
}

// Draws the labels of the pointed cell's row and column over the axis labels.
function drawMarkedLabels(context, plot, cell) {
  context.lineWidth = 6;
  context.lineJoin = 'round';
  context.strokeStyle = cssValue('--ground');
  context.fillStyle = cssValue('--accent');
  context.font = fontOf(plot.labels ? plot.font : 12, 600);
  writeQueryLabel(context, plot, cell.query, true);
  writeKeyLabel(context, plot, cell.key, true);
}

// Frames the row and column of `cell`; without a cell, the row of the chosen query or the column of
// the chosen key.
export function drawMarks(canvas, plot, cell = null) {
  const ratio = devicePixelRatio || 1;
  sizeCanvas(canvas, plot, ratio);
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.strokeStyle = cssValue('--accent');
  const frame = (x, y, width, height) =>
    context.strokeRect(plot.left + x - 0.5, plot.top + y - 0.5, width + 1, height + 1);
  const {cell: c, side, doc: {causal}} = plot;
  const row = (query) => frame(0, query * c, causal ? (query + 1) * c : side, c);
  const column = (key) => frame(key * c, causal ? key * c : 0, c, causal ? side - key * c : side);
  context.lineWidth = 1.25;
  if (cell === null) {
    (view.direction === 'gives' ? row : column)(focusToken(plot.doc));
    return;
  }
  row(cell.query);
  column(cell.key);
  drawMarkedLabels(context, plot, cell);
}
