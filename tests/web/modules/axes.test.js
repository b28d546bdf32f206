import {drawAxes, drawMarks} from '../../../src/show/page/axes.js';
import {sizeCanvas} from '../../../src/show/page/heat_map_layout.js';
import {documents, view} from '../../../src/show/page/state.js';
import {equal, test} from './harness.js';
import {openSample} from './sample.js';

const geometry = () => ({doc: documents[0], left: 40, top: 8, side: 100, cell: 20, below: 40,
                         font: 12, keys: 'flat', labels: documents[0].labels});

// Returns true if anything is drawn in the rectangle, in CSS pixels.
function isDrawn(canvas, x, y, width, height) {
  const ratio = devicePixelRatio;
  const {data} = canvas.getContext('2d').getImageData(x * ratio, y * ratio, width * ratio,
                                                      height * ratio);
  return data.some((value) => value > 0);
}

test('the frame is around the row of the query, or the column of the key', () => {
  openSample();
  view.token = 2;
  const canvas = document.createElement('canvas');
  const sides = () => [isDrawn(canvas, 44, 46, 10, 4), isDrawn(canvas, 76, 100, 8, 10)];
  drawMarks(canvas, geometry());
  equal(sides(), [true, false], 'the row begins at the left, above the third cell:');
  view.direction = 'receives';
  drawMarks(canvas, geometry());
  equal(sides(), [false, true], 'the column ends at the bottom:');
});

test('the cell under the pointer has its row, its column and both labels', () => {
  openSample();
  const canvas = document.createElement('canvas');
  drawMarks(canvas, geometry(), {query: 3, key: 1});
  equal(isDrawn(canvas, 0, 68, 38, 20), true, 'label of the query:');
  equal(isDrawn(canvas, 60, 112, 20, 20), true, 'label of the key:');
  equal(isDrawn(canvas, 0, 8, 38, 40), false, 'no other label:');
});

test('axes have a title and a label for every token', () => {
  openSample();
  const plot = geometry();
  const canvas = document.createElement('canvas');
  sizeCanvas(canvas, plot, devicePixelRatio);
  const context = canvas.getContext('2d');
  const written = [];
  context.fillText = (text) => written.push(text);
  drawAxes(context, plot);
  equal(written.slice(0, 4), ['the', 'the', '·cat', '·cat']);
  equal(written.slice(-2), ['Key', 'Query']);
  written.length = 0;
  drawAxes(context, {...plot, labels: Array(9).fill('x'), doc: {count: 9}});
  equal(written.length, 20, 'even where there are many:');
  written.length = 0;
  drawAxes(context, {...plot, labels: null, doc: {count: 30}});
  equal(written.slice(2, 6), ['5', '5', '10', '10']);
});
