// Draws elements of the page as SVG: text, backgrounds, borders, canvases, charts. Colours, fonts and
// places are those on the screen, so that a viewer without the page's styles shows the same.
import {svg} from './chart.js';

const kEdge = 16;  // pixels around the picture
const kOfCharts = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linejoin',
                   'font-family', 'font-size', 'text-anchor', 'opacity', 'display'];
const kSides = ['Top', 'Right', 'Bottom', 'Left'];

const pixel = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
const colours = new Map();

// Returns {paint: '#rrggbb', opacity: 0 to 1} for a colour of CSS in any colour space.
export function colourOf(css) {
  if (!colours.has(css)) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = css;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    const digits = [red, green, blue].map((value) => value.toString(16).padStart(2, '0')).join('');
    colours.set(css, {paint: `#${digits}`, opacity: Number((alpha / 255).toFixed(3))});
  }
  return colours.get(css);
}

// Attributes of SVG for a colour; `name` is 'fill' or 'stroke'.
function painted(name, css) {
  const {paint, opacity} = colourOf(css);
  return opacity === 1 ? {[name]: paint} : {[name]: paint, [`${name}-opacity`]: opacity};
}

const isSeen = (css) => colourOf(css).opacity > 0;
const short = (value) => Number(value.toFixed(2));
const frame = ({left, top, right, bottom}, by = 0) => ({x: short(left + by), y: short(top + by),
  width: short(Math.max(0, right - left - 2 * by)), height: short(Math.max(0, bottom - top - 2 * by))});

function radiusOf(style, {width, height}) {
  const value = parseFloat(style.borderTopLeftRadius) || 0;
  const pixels = style.borderTopLeftRadius.endsWith('%') ? Math.min(width, height) * value / 100 : value;
  return pixels > 0 ? {rx: short(Math.min(pixels, width / 2, height / 2))} : {};
}

// Draws the sides of a border; four equal ones as one shape.
function drawBorder(box, style, to) {
  const sides = kSides.map((side) => ({width: parseFloat(style[`border${side}Width`]) || 0, colour: style[`border${side}Color`],
                                       line: style[`border${side}Style`]}));
  const seen = sides.map(({width, colour, line}) => width > 0 && line !== 'none' && isSeen(colour));
  const [first] = sides;
  if (seen.every(Boolean) && sides.every(({width, colour}) => width === first.width && colour === first.colour)) {
    to.append(svg('rect', {...frame(box, first.width / 2), ...radiusOf(style, box), fill: 'none', ...painted('stroke', first.colour),
                           'stroke-width': first.width, ...first.line === 'dashed' ? {'stroke-dasharray': '3 2'} : {}}));
    return;
  }
  const {left, top, right, bottom} = box;
  sides.forEach(({width, colour}, i) => {
    if (seen[i]) {
      const line = [{left, right, top, bottom: top + width}, {left: right - width, right, top, bottom},
                    {left, right, top: bottom - width, bottom}, {left, right: left + width, top, bottom}][i];
      to.append(svg('rect', {...frame(line), ...painted('fill', colour)}));
    }
  });
}

// Draws shadows that are rings, which the page uses as borders.
function drawRings(box, style, to) {
  for (const [, colour, width, inset] of style.boxShadow.matchAll(/(\w+\([^()]*\)) 0px 0px 0px ([\d.]+)px( inset)?/g)) {
    const by = inset ? Number(width) / 2 : -Number(width) / 2;
    to.append(svg('rect', {...frame(box, by), ...radiusOf(style, box), fill: 'none', ...painted('stroke', colour), 'stroke-width': width}));
  }
}

function drawBoxes(boxes, style, to) {
  for (const box of boxes) {
    if (isSeen(style.backgroundColor)) {
      to.append(svg('rect', {...frame(box), ...radiusOf(style, box), ...painted('fill', style.backgroundColor)}));
    }
    drawBorder(box, style, to);
    drawRings(box, style, to);
  }
}

// Returns a text node's lines: {text, left, right, top, bottom}.
export function linesOf(node) {
  const range = document.createRange();
  const lines = [];
  let at = 0;
  for (const character of node.data) {
    range.setStart(node, at);
    at += character.length;
    range.setEnd(node, at);
    const [box] = range.getClientRects();
    const line = lines.at(-1);
    if (box === undefined || box.width === 0) {
      if (line !== undefined && /\S/.test(character)) {
        line.text += character;  // a mark on the character before it
      }
    } else if (line !== undefined && Math.abs(line.top - box.top) < 2) {
      line.text += character;
      line.right = Math.max(line.right, box.right);
    } else {
      const {left, right, top, bottom} = box;
      lines.push({text: character, left, right, top, bottom});
    }
  }
  return lines;
}

// Draws a line of text with its width on the screen, whichever font the viewer has.
function drawLine({text, left, right, top, bottom}, style, to) {
  if (text.trim() === '') {
    return;
  }
  pixel.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const {fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent} = pixel.measureText(text);
  const upright = style.writingMode === 'sideways-lr';
  const [length, height] = upright ? [bottom - top, right - left] : [right - left, bottom - top];
  const baseline = (upright ? left : top) + (height + ascent - descent) / 2;
  const place = upright ? {transform: `translate(${short(baseline)} ${short(bottom)}) rotate(-90)`}
    : {x: short(left), y: short(baseline)};
  to.append(svg('text', {...place, ...painted('fill', style.color), 'font-family': style.fontFamily.replaceAll('"', "'"),
    'font-size': style.fontSize, ...style.fontWeight === '400' ? {} : {'font-weight': style.fontWeight},
    ...style.fontStyle === 'normal' ? {} : {'font-style': style.fontStyle}, textLength: short(length),
    lengthAdjust: 'spacingAndGlyphs', 'xml:space': 'preserve'}, text));
}

function drawText(node, style, to) {
  if (style.writingMode === 'sideways-lr') {
    const range = document.createRange();
    range.selectNodeContents(node);
    const {left, right, top, bottom} = range.getBoundingClientRect();
    drawLine({text: node.data, left, right, top, bottom}, style, to);
  } else {
    linesOf(node).forEach((line) => drawLine(line, style, to));
  }
}

// Draws a text of `content` that has its own place.
function drawPseudo(node, name, to) {
  const style = getComputedStyle(node, name);
  const [, text] = /^"(.*)"$/.exec(style.content) ?? [];
  if (text && style.position === 'absolute') {
    const box = node.getBoundingClientRect();
    const left = box.left + parseFloat(style.left);
    const top = box.top + parseFloat(style.top);
    drawLine({text, left, right: left + parseFloat(style.width), top, bottom: top + parseFloat(style.height)}, style, to);
  }
}

// Returns a copy of a chart with the styles of its parts.
function copiedChart(node, box) {
  const copy = node.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll('*')];
  [node, ...node.querySelectorAll('*')].forEach((part, i) => {
    const style = getComputedStyle(part);
    copies[i].removeAttribute('class');
    copies[i].removeAttribute('style');
    for (const name of kOfCharts) {
      const value = style.getPropertyValue(name);
      const isColour = ['fill', 'stroke'].includes(name) && value !== 'none';
      copies[i].setAttribute(name, isColour ? colourOf(value).paint : value);
    }
  });
  Object.entries(frame(box)).forEach(([name, value]) => copy.setAttribute(name, value));
  return copy;
}

function groupIn(to, style, box, clips) {
  const group = clips ? svg('svg', {...frame(box), viewBox: Object.values(frame(box)).join(' '), overflow: 'hidden'}) : svg('g', {});
  if (style.opacity !== '1') {
    group.setAttribute('opacity', style.opacity);
  }
  to.append(group);
  return group;
}

// Boxes that scroll sideways are drawn whole if nothing is beside them.
const isWhole = (node, right) => node.matches('.scroller') && node.getBoundingClientRect().right > right - kEdge;

// `right`: right edge of the picture without wider boxes.
function drawNode(node, right, to) {
  const style = getComputedStyle(node);
  if (node.matches('.hint, details:not([open])') || style.visibility === 'hidden' || style.display !== 'contents' && node.checkVisibility?.() === false) {
    return;
  }
  const box = node.getBoundingClientRect();
  drawBoxes(style.display === 'inline' ? node.getClientRects() : [box], style, to);
  if (node.localName === 'canvas') {
    to.append(svg('image', {...frame(box), href: node.toDataURL(), preserveAspectRatio: 'none',
                            'image-rendering': style.imageRendering}));
    return;
  }
  if (node.localName === 'svg') {
    to.append(copiedChart(node, box));
    return;
  }
  const clips = style.overflowX !== 'visible' && style.display !== 'inline' && !isWhole(node, right);
  const inside = clips || style.opacity !== '1' ? groupIn(to, style, box, clips) : to;
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) {
      drawText(child, style, inside);
    } else if (child.nodeType === Node.ELEMENT_NODE) {
      drawNode(child, right, inside);
    }
  }
  drawPseudo(node, '::after', inside);
}

// Calls `draw` while boxes that scroll sideways show their beginning.
function unscrolled(node, draw) {
  const boxes = [...node.querySelectorAll('.scroller'), node.closest('.scroller')].filter((box) => box !== null);
  const places = boxes.map((box) => box.scrollLeft);
  boxes.forEach((box) => { box.scrollLeft = 0; });
  try {
    return draw(boxes);
  } finally {
    boxes.forEach((box, i) => { box.scrollLeft = places[i]; });
  }
}

// Returns an element as SVG on the page's background.
export function drawingOf(node, title) {
  return unscrolled(node, (boxes) => {
    const box = node.getBoundingClientRect();
    const right = Math.max(box.right, ...boxes.filter((inner) => node.contains(inner) && isWhole(inner, box.right))
      .map((inner) => inner.getBoundingClientRect().left + inner.scrollWidth));
    const area = frame({left: box.left, top: box.top, right, bottom: box.bottom}, -kEdge);
    const drawing = svg('svg', {width: area.width, height: area.height,
                                viewBox: Object.values(area).join(' ')}, svg('title', {}, title),
                        svg('rect', {...area, ...painted('fill', getComputedStyle(document.body).backgroundColor)}));
    drawNode(node, box.right, drawing);
    return drawing;
  });
}
