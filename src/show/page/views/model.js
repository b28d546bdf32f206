// Model view: thumbnails of every head, or one head as a heat map beside the running text.
import {drawMarks} from '../axes.js';
import {showCellTip} from '../cell_tip.js';
import {element} from '../dom.js';
import {drawPlot} from '../heat_map.js';
import {cellAt} from '../heat_map_layout.js';
import {linksTable, listLinks} from '../links.js';
import {chooseToken} from '../page.js';
import {shownDocuments, view} from '../state.js';
import {colourText, textBox} from '../text.js';
import {hideTip} from '../tip.js';
import {headNavigator, headTools, isFine} from '../toolbar.js';
import {closeThumbnails, focusThumbnail, markCurrent, thumbnailGrid} from './thumbnails.js';
import {say} from '../words.js';

// Places the navigator of a large model in the blank half of a causal map, if it fits there.
function placeNavigator(map, plot) {
  const navigator = headNavigator();
  navigator.classList.add('corner');
  map.append(navigator);
  const {width, height} = navigator.getBoundingClientRect();
  navigator.style.right = `${map.clientWidth - plot.left - plot.side}px`;
  if (width + height + 40 > plot.side) {
    navigator.remove();
  }
}

function listenToMap(marks, head, plotNow) {
  const hover = (event) => {
    const cell = cellAt(event, plotNow());
    drawMarks(marks, plotNow(), cell);
    showCellTip(event, head, cell);
  };
  marks.addEventListener('pointermove', hover);
  marks.addEventListener('pointerdown', hover);
  marks.addEventListener('pointerleave', (event) => {
    // A finger leaves right after a touch, so its tooltip and marks stay.
    if (event.pointerType !== 'touch') {
      hideTip();
      drawMarks(marks, plotNow());
    }
  });
  marks.addEventListener('click', (event) => {
    const cell = cellAt(event, plotNow());
    if (cell !== null) {
      chooseToken(view.direction === 'gives' ? cell.query : cell.key);
    }
  });
}

// Returns one head as a heat map beside the running text.
function headPane(doc, number, narrow) {
  const head = doc.byName.get(view.head) ?? null;
  const text = textBox(doc, number);
  if (head === null) {
    return {doc, head, node: element('p', {className: 'hint',
      textContent: say('no_head', {name: view.head})}), showToken() {}};
  }
  const heat = element('canvas', {className: 'heat', role: 'img',
                                  ariaLabel: say('heat_map', {name: head.name})});
  const marks = element('canvas', {className: 'marks', ariaHidden: 'true'});
  const title = element('h3');
  const list = element('ol', {className: 'links'});
  const map = element('div', {className: 'map'}, heat, marks);
  const node = element('div', {className: narrow ? 'split narrow' : 'split'}, map,
    element('div', {className: 'reading'}, text.node, title, list, linksTable(head)));
  const pane = {doc, head, node, scroll: text.scroll};
  let plot = null;
  pane.draw = () => {
    plot = drawPlot(heat, head, map.clientWidth, Math.max(300, innerHeight - 280));
    if (!narrow && isFine(doc) && doc.causal) {
      placeNavigator(map, plot);
    }
  };
  pane.showToken = () => {
    text.mark();
    colourText(head, text.spans);
    listLinks(head, title, list);
    drawMarks(marks, plot);
  };
  listenToMap(marks, head, () => plot);
  return pane;
}

export function buildModelView() {
  if (!view.open) {
    return {panes: shownDocuments().map(thumbnailGrid), close: closeThumbnails, markCurrent,
            focusHead: focusThumbnail, hint: say('model_hint')};
  }
  const docs = shownDocuments();
  return {panes: docs.map((doc, i) => headPane(doc, i, docs.length > 1)), tools: headTools()};
}
