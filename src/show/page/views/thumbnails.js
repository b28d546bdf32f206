// Shows all heads of a document as small heat maps, with layers as rows.
import {element} from '../dom.js';
import {drawThumbnail} from '../heat_map.js';
import {classLabel, classTag, documentName, headTitle} from '../labels.js';
import {openHead} from '../page.js';
import {current} from '../state.js';
import {say} from '../words.js';

const thumbnails = new Map();  // head -> its button, for the documents shown

// Heads in or near the visible area whose thumbnails are not drawn yet. drawWaiting() draws them in
// slices of 12 ms, so that the page of a large model stays responsive.
const waiting = new Set();
let drawing = false;

function drawOne(head) {
  const button = thumbnails.get(head);
  if (button?.isConnected) {
    button.drawn = true;
    drawThumbnail(button.querySelector('canvas'), head);
  }
}

function drawWaiting() {
  drawing = true;
  const end = performance.now() + 12;
  while (waiting.size > 0 && performance.now() < end) {
    const head = waiting.values().next().value;
    waiting.delete(head);
    drawOne(head);
  }
  drawing = waiting.size > 0;
  if (drawing) {
    requestAnimationFrame(drawWaiting);
  } else {
    document.documentElement.dataset.drawn ??= Math.round(performance.now());
  }
}

// Draws the heads that have not come into sight yet.
export function drawAllThumbnails() {
  for (const [head, button] of thumbnails) {
    if (!button.drawn) {
      drawOne(head);
    }
  }
}

const sight = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) {
    if (isIntersecting) {
      sight.unobserve(target);
      waiting.add(target.head);
    }
  }
  if (!drawing && waiting.size > 0) {
    drawWaiting();
  }
}, {rootMargin: '200px'});

function thumbnail(head) {
  const button = element('button', {
    type: 'button', head, title: say('head_name', {name: head.name}), ariaLabel: headTitle(head),
    style: `grid-area: ${head.row + 2} / ${head.column + 2}`, onclick: () => openHead(head),
  }, element('canvas', {ariaHidden: 'true'}));
  if (head.score) {
    const score = head.score[1].toFixed(2);
    button.ariaLabel = say('head_class', {title: headTitle(head), name: classLabel(head.score), score});
    button.append(classTag(head));
    button.title += `: ${classLabel(head.score)} ${score}`;
  }
  thumbnails.set(head, button);
  sight.observe(button);
  return button;
}

export function thumbnailGrid(doc) {
  // As large as the window's height allows for all layers, within readable limits.
  const largest = `clamp(60px, calc((100vh - 330px) / ${doc.layers.length}), 260px)`;
  const smallest = doc.heads.some((head) => head.score) ? 'min(72px, 18vw)' : '52px';
  const columns = `max-content repeat(${doc.columns.length}, minmax(${smallest}, ${largest}))`;
  const grid = element('div', {className: 'thumbnails', role: 'group',
                               ariaLabel: say('heads_of', {text: documentName(doc)}),
                               style: `grid-template-columns: ${columns}`},
    element('span', {className: 'layer'}),
    ...doc.columns.map((head) => element('span', {textContent: say('head_name', {name: head})})),
    ...doc.layers.map(({layer}, row) => element('span', {
      className: 'layer', textContent: say('layer_name', {layer}), style: `grid-area: ${row + 2} / 1`,
    })),
    ...doc.heads.map(thumbnail));
  return {doc, head: null, node: element('div', {className: 'scroller'}, grid), showToken() {}};
}

// Makes the current head the only thumbnail that the Tab key reaches.
export function markCurrent() {
  for (const [head, button] of thumbnails) {
    button.tabIndex = head.name === current().name ? 0 : -1;
  }
}

export function focusThumbnail(head) {
  markCurrent();
  thumbnails.get(head)?.focus();
}

export function closeThumbnails() {
  thumbnails.clear();
  waiting.clear();
  sight.disconnect();
}
