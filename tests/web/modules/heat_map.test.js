import {level, palette} from '../../../src/show/page/colours.js';
import {drawPlot, drawThumbnail, largestWeight} from '../../../src/show/page/heat_map.js';
import {documents, view} from '../../../src/show/page/state.js';
import {equal, near, test} from './harness.js';
import {openSample} from './sample.js';

const pixel = (canvas, x, y) =>
  new Uint32Array(canvas.getContext('2d').getImageData(x, y, 1, 1).data.buffer)[0];

test('a pixel over several cells has their largest weight', () => {
  const weights = [0.1, 0, 0, 0.2, 0.8, 0, 0.3, 0.3, 0.4];
  near(largestWeight(weights, 3, [0, 2], [0, 2]), 0.8);
  near(largestWeight(weights, 3, [2, 3], [0, 3]), 0.4);
});

test('a thumbnail has the colour of every weight, and nothing in the future', () => {
  openSample();
  const canvas = document.createElement('canvas');
  Object.defineProperty(canvas, 'clientWidth', {value: 20});
  drawThumbnail(canvas, documents[0].byName.get('0.1'));
  const side = canvas.width / 5;
  const at = (query, key) => pixel(canvas, (key + 0.5) * side, (query + 0.5) * side);
  equal([at(2, 1), at(2, 2), at(2, 0)],
        [0.75, 0.25, 0].map((weight) => palette().pixels[level(weight)]));
  equal(at(1, 3), 0);
});

test('an enlarged map has the same cells at the places of its geometry', () => {
  openSample();
  view.root = true;
  const canvas = document.createElement('canvas');
  const plot = drawPlot(canvas, documents[0].byName.get('0.2'), 400, 300);
  const ratio = devicePixelRatio;
  // A pixel near the corner of a cell, beside the value in its middle.
  const at = (query, key) =>
    pixel(canvas, Math.round((plot.left + (key + 0.1) * plot.cell) * ratio),
          Math.round((plot.top + (query + 0.1) * plot.cell) * ratio));
  equal([at(4, 2), at(4, 4), at(4, 3)],
        [0.75, 0.25, 0].map((weight) => palette().pixels[level(weight)]));
  equal(at(0, 4), 0);
});
