// Tooltip of a heat map's cell.
import {element} from './dom.js';
import {view} from './state.js';
import {hideTip, showTip} from './tip.js';
import {shownWeights} from './weights.js';
import {say} from './words.js';

// Shows "query → key: 0.873", and the positions below. Without a cell, hides the tooltip.
export function showCellTip(event, head, cell) {
  if (cell === null) {
    hideTip();
    return;
  }
  const {query, key} = cell;
  const name = (i) => element('bdi', {textContent: head.doc.labels[i]});
  const weight = shownWeights(head)[query * head.doc.count + key].toFixed(3);
  showTip(event, say(view.hideFirst ? 'cell_hidden' : 'cell', {query, key}),
    name(query), ' → ', name(key), ': ', element('b', {textContent: weight}));
}
