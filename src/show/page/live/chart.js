// Curves of several runs in one chart.
import {distinctColour} from '../colours.js';
import {element} from '../dom.js';
import {ticksBetween} from '../heat_map_layout.js';

const kWidth = 760;
const kHeight = 300;
const kEdge = {left: 62, right: 14, top: 10, bottom: 30};
const kMostPoints = 700;  // points per curve; longer curves show means of neighbours

// Returns an element of SVG.
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
}

function thinned(points) {
  const size = Math.ceil(points.length / kMostPoints);
  if (size <= 1) {
    return points;
  }
  const result = [];
  for (let i = 0; i < points.length; i += size) {
    const some = points.slice(i, i + size);
    result.push([some.at(-1)[0], some.reduce((sum, [, y]) => sum + y, 0) / some.length]);
  }
  return result;
}

const numberText = (value) => Math.abs(value) >= 10000 ? `${(value / 1000).toPrecision(3) / 1}k`
  : Math.abs(value) < 0.001 && value !== 0 ? value.toExponential(0) : `${Number(value.toPrecision(4))}`;

// `curves` are {name, colour (a number), points: [[x, y]], dashed}.
export function chartOf(curves, title) {
  const drawn = curves.map((curve) => ({...curve, points: thinned(curve.points)})).filter(({points}) => points.length);
  const xs = drawn.flatMap(({points}) => points.map(([x]) => x));
  const ys = drawn.flatMap(({points}) => points.map(([, y]) => y)).filter(Number.isFinite);
  if (xs.length === 0) {
    return element('p', {className: 'hint', textContent: '–'});
  }
  const [least, most] = [xs.reduce((a, b) => Math.min(a, b)), xs.reduce((a, b) => Math.max(a, b))];
  let [low, high] = [ys.reduce((a, b) => Math.min(a, b)), ys.reduce((a, b) => Math.max(a, b))];
  high = high === low ? low + 1 : high;
  const inner = {width: kWidth - kEdge.left - kEdge.right, height: kHeight - kEdge.top - kEdge.bottom};
  const place = ([x, y]) => [kEdge.left + inner.width * (x - least) / (most - least || 1),
                             kEdge.top + inner.height * (1 - (y - low) / (high - low))];
  const chart = svg('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': title});
  for (const tick of ticksBetween(low, high, 5)) {
    const [, y] = place([least, tick]);
    chart.append(svg('line', {x1: kEdge.left, x2: kWidth - kEdge.right, y1: y, y2: y, class: 'rule'}),
      svg('text', {x: kEdge.left - 8, y: y + 4, class: 'tick end'}, numberText(tick)));
  }
  for (const tick of ticksBetween(least, most, 5)) {
    const [x] = place([tick, low]);
    chart.append(svg('text', {x, y: kHeight - 8, class: 'tick middle'}, numberText(tick)));
  }
  for (const {points, colour, dashed} of drawn) {
    const path = points.filter(([, y]) => Number.isFinite(y)).map((point) =>
      place(point).map((value) => value.toFixed(1)).join(' ')).join('L');
    const line = svg('path', {d: `M${path}`, class: dashed ? 'curve dashed' : 'curve'});
    line.style.stroke = distinctColour(colour);
    chart.append(line);
  }
  return chart;
}
