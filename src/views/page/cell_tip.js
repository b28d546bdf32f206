// Tooltip of a heat map's cell.
import {element} from './dom.js';
import {view} from './state.js';
import {showTip} from './tip.js';
import {shownWeights} from './weights.js';
import {say} from './words/words.js';

// Shows "query → key: 0.873", and the positions below.
export function showCellTip(event, head, {query, key}) {
  const name = (i) => element('bdi', {textContent: head.doc.labels[i]});
  const weight = shownWeights(head)[query * head.doc.count + key].toFixed(3);
  showTip(event, say('cell', query, key, view.hideFirst),
    name(query), ' → ', name(key), ': ', element('b', {textContent: weight}));
}
