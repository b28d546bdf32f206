import {element} from '../../../../src/show/page/dom.js';
import {svg} from '../../../../src/show/page/live/chart.js';
import {colourOf, drawingOf, linesOf} from '../../../../src/show/page/live/drawing.js';
import {pngOf, svgOf} from '../../../../src/show/page/live/picture.js';
import {equal, near, test} from '../harness.js';

// Calls `see` with a box of 200 x 100 pixels in the page.
async function inBox(children, see) {
  const box = element('div', {style: 'position: absolute; left: 30px; top: 40px; width: 200px; height: 100px; padding: 0; ' +
    'font: 20px monospace; line-height: 30px; color: rgb(10, 20, 30); background: rgb(200, 220, 240)'}, ...children);
  document.body.append(box);
  try {
    await see(box);
  } finally {
    box.remove();
  }
}

const numbers = (node, ...names) => names.map((name) => Number(node.getAttribute(name)));

test('colours of any space become hexadecimal', () => {
  equal(colourOf('rgb(10, 20, 30)'), {paint: '#0a141e', opacity: 1});
  equal(colourOf('oklab(1 0 0)'), {paint: '#ffffff', opacity: 1});
  equal(colourOf('transparent').opacity, 0);
  near(colourOf('rgb(255 0 0 / 0.5)').opacity, 0.5, 0.01);
});

test('a text has a line for each row on the screen', () => inBox(['one two three four five'], (box) => {
  const lines = linesOf(box.firstChild);
  equal(lines.map(({text}) => text.trim()), ['one two three', 'four five']);
  near(lines[1].top - lines[0].top, 30, 0.5);
}));

test('a drawing has the texts, colours and places of the page', () => inBox([element('b', {textContent: 'bold'}), ' plain'], (box) => {
  const drawing = drawingOf(box, 'A title');
  equal(numbers(drawing, 'width', 'height'), [232, 132]);
  equal(drawing.querySelector('title').textContent, 'A title');
  const [ground, rect] = drawing.querySelectorAll('rect');
  equal(numbers(ground, 'width', 'height'), [232, 132]);
  equal([rect.getAttribute('fill'), ...numbers(rect, 'x', 'y', 'width', 'height')], ['#c8dcf0', 30, 40, 200, 100]);
  const [bold, plain] = drawing.querySelectorAll('text');
  equal([bold, plain].map((text) => text.textContent), ['bold', ' plain']);
  equal([bold, plain].map((text) => text.getAttribute('font-weight')), ['700', null]);
  equal([bold.getAttribute('fill'), bold.getAttribute('font-size')], ['#0a141e', '20px']);
  near(numbers(plain, 'x')[0], numbers(bold, 'x')[0] + numbers(bold, 'textLength')[0], 0.1);
}));

test('elements that are not shown are left out', () => inBox([
  element('p', {hidden: true, textContent: 'no'}), element('p', {style: 'visibility: hidden', textContent: 'no'}),
  element('p', {className: 'hint', textContent: 'no'}), element('details', {}, element('summary', {textContent: 'no'})),
  element('details', {open: true}, element('summary', {textContent: 'yes'}))], (box) => {
  equal([...drawingOf(box, '').querySelectorAll('text')].map((text) => text.textContent), ['yes']);
}));

test('charts keep the styles of their parts without a style sheet', () => inBox([
  svg('svg', {viewBox: '0 0 10 10', width: 50, height: 50}, svg('path', {d: 'M0 0L9 9', style: 'stroke: rgb(255, 0, 0); fill: none'}))], (box) => {
  const path = drawingOf(box, '').querySelector('path');
  equal([path.getAttribute('stroke'), path.getAttribute('fill'), path.getAttribute('style')], ['#ff0000', 'none', null]);
}));

test('boxes that scroll sideways are drawn whole', () => inBox([
  element('div', {className: 'scroller', style: 'overflow-x: auto; margin: 0; padding: 0'}, element('p', {style: 'width: 500px', textContent: 'wide'}))], (box) => {
  box.firstChild.scrollLeft = 100;
  const drawing = drawingOf(box, '');
  equal(numbers(drawing, 'width'), [532]);
  near(numbers(drawing.querySelector('text'), 'x'), 30, 0.5);
  equal(box.firstChild.scrollLeft, 100);
}));

test('boxes that scroll beside others are cut', () => inBox([
  element('div', {className: 'scroller', style: 'overflow-x: auto; margin: 0; width: 90px'}, element('p', {style: 'width: 500px', textContent: 'wide'}))], (box) => {
  const drawing = drawingOf(box, '');
  equal(numbers(drawing, 'width'), [232]);
  equal(drawing.querySelector('text').closest('svg').getAttribute('overflow'), 'hidden');
}));

test('the picture has the pixels of the page, and of its canvases', () => {
  const canvas = element('canvas', {width: 4, height: 4, style: 'display: block; width: 40px; height: 40px; image-rendering: pixelated'});
  canvas.getContext('2d').fillStyle = 'rgb(255, 0, 0)';
  canvas.getContext('2d').fillRect(0, 0, 4, 4);
  return inBox([canvas], async (box) => {
    const drawing = drawingOf(box, '');
    equal((await svgOf(drawing).text()).startsWith('<svg xmlns="http://www.w3.org/2000/svg"'), true);
    const png = await createImageBitmap(await pngOf(drawing));
    equal([png.width, png.height], [464, 264]);
    const context = new OffscreenCanvas(png.width, png.height).getContext('2d');
    context.drawImage(png, 0, 0);
    const at = (x, y) => [...context.getImageData(x, y, 1, 1).data];
    equal(at(2 * (16 + 20), 2 * (16 + 20)), [255, 0, 0, 255]);
    equal(at(2 * (16 + 100), 2 * (16 + 60)), [200, 220, 240, 255]);
  });
});
