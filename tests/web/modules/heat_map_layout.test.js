import {cellAt, fitText, labelRoom, measurePlot, pixelTokens, sizeCanvas,
        ticksBetween} from '../../../src/show/page/heat_map_layout.js';
import {equal, near, test} from './harness.js';
import {openSample} from './sample.js';

// Context with characters 10 pixels wide; characters beyond 16 bits are 20 pixels wide.
const context = {measureText: (text) => ({width: 10 * text.length})};
const doc = (count, label = 'ab') => ({count, labels: Array(count).fill(label)});

test('each pixel has the tokens under it', () => {
  equal(pixelTokens(2, 4), [[0, 1], [0, 1], [1, 2], [1, 2]]);
  equal(pixelTokens(5, 2), [[0, 3], [2, 5]], 'a token between two belongs to both:');
  equal(pixelTokens(3, 3), [[0, 1], [1, 2], [2, 3]]);
});

test('a text that is too long is cut', () => {
  equal(fitText(context, 'abc', 30), 'abc');
  equal(fitText(context, 'abcd', 30), 'ab…');
  equal(fitText(context, '🙂🙂🙂', 40), '🙂…', 'between characters:');
  equal(fitText(context, 'abc', 5), '…');
});

test('labels are shortened if the cells can then hold values', () => {
  equal([labelRoom(8, 320), labelRoom(8, 600)], [64, 84]);
  near(labelRoom(16, 540), 74);
  equal([labelRoom(20, 600), labelRoom(100, 600)], [84, 84], 'not where it would not help:');
});

test('ticks are round and at most about seven', () => {
  equal(ticksBetween(0, 6, 7), [0, 1, 2, 3, 4, 5, 6]);
  equal(ticksBetween(0, 29, 7), [0, 5, 10, 15, 20, 25]);
  equal(ticksBetween(0, 255, 7), [0, 50, 100, 150, 200, 250]);
  equal(ticksBetween(-0.3, 0.21, 5), [-0.2, 0, 0.2]);
  equal(ticksBetween(2, 2, 5), [2]);
});

test('a short text has all labels, a long one positions', () => {
  const short = measurePlot(context, doc(4), 500, 400);
  equal(short.labels, ['ab', 'ab', 'ab', 'ab']);
  equal([short.left, short.side, short.cell, short.keys], [50, 256, 64, 'flat']);
  const long = measurePlot(context, doc(200), 500, 400);
  equal([long.labels, long.left, long.side, long.keys], [null, 60, 400, 'flat']);
});

test('labels of keys turn as cells become narrow', () => {
  const keys = (count) => measurePlot(context, doc(count, 'abcdef'), 500, 400).keys;
  equal([keys(5), keys(12), keys(20)], ['flat', 'slanted', 'upright']);
});

test('a pointer is over a cell, or over none', () => {
  openSample();
  const plot = {doc: {count: 2, causal: true}, left: 50, top: 8, cell: 10};
  const at = (x, y) => cellAt({clientX: 100 + x, clientY: 200 + y, currentTarget: {
    getBoundingClientRect: () => ({left: 100, top: 200})}}, plot);
  equal(at(51, 9), {query: 0, key: 0});
  equal(at(55, 27), {query: 1, key: 0});
  equal(at(65, 9), null, 'the future is blank:');
  equal([at(49, 9), at(71, 20), at(51, 28)], [null, null, null]);
});

test('a canvas has room for the axes, in pixels of the screen', () => {
  const canvas = document.createElement('canvas');
  sizeCanvas(canvas, {left: 50, side: 100, top: 8, below: 40}, 2);
  equal([canvas.width, canvas.height], [304, 296]);
  equal([canvas.style.width, canvas.style.height], ['152px', '148px']);
});
