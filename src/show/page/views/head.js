// Head view: lines between tokens, a colour for each head of a layer.
import {distinctColour, strength} from '../colours.js';
import {element, tableOf} from '../dom.js';
import {classTag, dot} from '../labels.js';
import {linkCell} from '../links.js';
import {setDirection, showToken} from '../page.js';
import {focusToken, layerHeads, shownDocuments, view} from '../state.js';
import {listenForTokens} from '../text.js';
import {directionSwitch, layerPicker} from '../toolbar.js';
import {isBlank, linkWeight, shownWeights, strongest} from '../weights.js';
import {say} from '../words.js';

const kRow = 24;           // CSS pixels per token
const kMostLines = 3000;   // lines drawn at once, the strongest
const kFaintest = 0.01;    // smallest weight with a line

const visibleHeads = (doc) => layerHeads(doc).filter((head) => !view.hidden.has(head.name));

const hasChosen = () => view.hovered !== null || view.token !== null;

const headColour = (head) => distinctColour(head.head);

// Returns buttons that show or hide a head; a double click shows that head alone.
function headChips() {
  const names = new Map(shownDocuments().flatMap((doc) =>
    layerHeads(doc).map((head) => [head.name, head])));
  const press = () => chips.forEach((chip, i) => {
    chip.ariaPressed = !view.hidden.has([...names.keys()][i]);
  });
  const chips = [...names.values()].map((head) => {
    const onclick = (event) => {
      if (event.detail === 2) {
        view.hidden = new Set([...names.keys()].filter((name) => name !== head.name));
      } else if (!view.hidden.delete(head.name)) {
        view.hidden.add(head.name);
      }
      press();
      showToken();
    };
    return element('button', {type: 'button', className: 'chip', onclick}, dot(headColour(head)),
      say('head_name', {name: head.head}), classTag(head)?.querySelector('.class') ?? '');
  });
  press();
  return element('div', {className: 'chips', title: say('only_this_head'), role: 'group',
                         ariaLabel: say('heads_to_draw')}, ...chips);
}

// Returns a column of tokens: queries on the left, keys on the right.
function tokenColumn(doc, side, prefix) {
  const items = doc.labels.map((label, i) => {
    const item = element('div', {id: `${prefix}-${i}`, role: 'option', title: say('token_at', {place: i})},
      element('bdi', {textContent: label, translate: false}));
    item.dataset.token = i;
    return item;
  });
  const column = element('div', {className: `tokens ${side}`, role: 'listbox', tabIndex: 0,
                                 ariaLabel: say(side === 'left' ? 'queries' : 'keys')}, ...items);
  const turn = () => setDirection(side === 'left' ? 'gives' : 'receives');
  column.addEventListener('pointerover', (event) => {
    if (event.pointerType === 'mouse') {
      turn();
    }
  });
  column.addEventListener('pointerleave', () => setDirection(view.kept));
  column.addEventListener('click', turn, {capture: true});
  listenForTokens(column);
  return {column, items, side};
}

// Returns the links to draw beside rows [first, last), of the chosen token or of all tokens there:
// [weight, query, key, head], the strongest first.
export function linksInSight(doc, first, last) {
  const chosen = hasChosen() ? focusToken(doc) : null;
  const links = [];
  for (const head of visibleHeads(doc)) {
    const weights = shownWeights(head);
    for (let query = 0; query < doc.count; ++query) {
      const seen = query >= first && query < last;
      const end = doc.causal ? query + 1 : doc.count;
      for (let key = seen ? 0 : first; key < (seen ? end : Math.min(end, last)); ++key) {
        const weight = weights[query * doc.count + key];
        const from = view.direction === 'gives' ? query : key;
        const wanted = chosen === null ? from >= first && from < last : from === chosen;
        if (weight >= kFaintest && wanted && !isBlank(doc, query, key)) {
          links.push([weight, query, key, head]);
        }
      }
    }
  }
  return links.sort((a, b) => b[0] - a[0]).slice(0, kMostLines);
}

// Draws the weights as small squares at the far end of the links, a column for each head.
function drawSquares(context, doc, {width, first, last}) {
  const heads = visibleHeads(doc);
  const side = Math.min(9, 84 / Math.max(heads.length, 1));
  for (let i = first; i < Math.min(last, doc.count); ++i) {
    heads.forEach((head, column) => {
      context.globalAlpha = strength(linkWeight(head, i) ?? 0);
      context.fillStyle = headColour(head);
      const x = view.direction === 'gives' ? width - (heads.length - column) * side : column * side;
      context.fillRect(x, (i - first) * kRow + 3, side - 1, kRow - 6);
    });
  }
}

function drawLinks(canvas, doc, scroller) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.parentNode.clientWidth;
  const height = Math.min(scroller.clientHeight, doc.count * kRow);
  const top = Math.min(scroller.scrollTop, doc.count * kRow - height);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  canvas.style.transform = `translateY(${top}px)`;
  const first = Math.floor(top / kRow);
  const last = Math.min(doc.count, Math.ceil((top + height) / kRow) + 1);
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.translate(0, first * kRow - top);
  const chosen = hasChosen();
  context.lineWidth = chosen ? 2.5 : 1.6;
  const inset = chosen ? Math.min(9, 84 / Math.max(visibleHeads(doc).length, 1)) *
    visibleHeads(doc).length + 4 : 0;
  const [from, to] = view.direction === 'gives' ? [0, width - inset] : [inset, width];
  for (const [weight, query, key, head] of linksInSight(doc, first, last).reverse()) {
    // If all links are shown, only strong ones are opaque.
    context.globalAlpha = Math.min(1, chosen ? strength(weight) : weight);
    context.strokeStyle = headColour(head);
    context.beginPath();
    context.moveTo(from, (query - first + 0.5) * kRow);
    context.lineTo(to, (key - first + 0.5) * kRow);
    context.stroke();
  }
  if (chosen) {
    drawSquares(context, doc, {width, first, last});
  }
}

// Returns a table of the chosen token's strongest links by head: exact, and for screen readers.
function headTable(doc) {
  const place = focusToken(doc);
  return tableOf(say(`by_head_${view.direction}`, {label: doc.labels[place], place}), say('by_head_columns'),
    visibleHeads(doc).map((head) => {
      const links = strongest(doc.count, (i) => linkWeight(head, i), 3);
      return element('tr', {}, element('th', {scope: 'row', textContent: head.name}),
        ...[0, 1, 2].map((i) => linkCell(doc, links[i])));
    }));
}

function linesPane(doc, number) {
  const left = tokenColumn(doc, 'left', `query-${number}`);
  const right = tokenColumn(doc, 'right', `key-${number}`);
  const canvas = element('canvas', {ariaHidden: 'true'});
  const scroller = element('div', {className: 'lines'}, left.column,
    element('div', {className: 'between'}, canvas), right.column);
  const table = element('div', {className: 'scroller'});
  const box = element('details', {className: 'table-box', open: true},
    element('summary', {textContent: 'Strongest links of the chosen token'}), table);
  const pane = {doc, head: layerHeads(doc)[0] ?? null, node: element('div', {}, scroller, box)};
  pane.showToken = () => {
    const chosen = hasChosen() ? focusToken(doc) : null;
    for (const {column, items, side} of [left, right]) {
      const active = (side === 'left') === (view.direction === 'gives');
      items.forEach((item, i) => {
        item.classList.toggle('chosen', active && i === chosen);
        item.ariaSelected = active && i === chosen;
      });
      column.setAttribute('aria-activedescendant',
        chosen === null ? '' : column.children[chosen].id);
    }
    drawLinks(canvas, doc, scroller);
    box.hidden = chosen === null;
    if (box.open && chosen !== null) {
      table.replaceChildren(headTable(doc));
    }
  };
  pane.scroll = () => {
    if (view.token === null) {
      return;
    }
    const at = focusToken(doc) * kRow;
    if (at < scroller.scrollTop || at + kRow > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = at - scroller.clientHeight / 2;
    }
  };
  scroller.addEventListener('scroll', () => drawLinks(canvas, doc, scroller), {passive: true});
  // A taller window shows more rows.
  new ResizeObserver(() => drawLinks(canvas, doc, scroller)).observe(scroller);
  box.addEventListener('toggle', pane.showToken);
  return pane;
}

export function buildHeadView() {
  return {panes: shownDocuments().map(linesPane),
          tools: [layerPicker(), directionSwitch(), headChips()], hint: say('head_hint')};
}
