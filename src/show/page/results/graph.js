// Makes the graph of a circuit interactive: lines show their scores, and a pointed node fades all
// lines but its own.
import {element} from '../dom.js';
import {hideTip, showTip} from '../tip.js';

// Returns an invisible wide copy of a line, since thin lines are hard to point at.
function widen(line, tell) {
  const reach = line.cloneNode();
  reach.setAttribute('class', 'reach');
  reach.onpointermove = (event) =>
    showTip(event, tell.small, element('b', {textContent: tell.value}));
  reach.onpointerleave = hideTip;
  return reach;
}

// Splits the title of a line, "0.1 to 2.0 (kv): 0.43", at its last colon.
export function readTitle(text) {
  const colon = text.lastIndexOf(': ');
  return {small: text.slice(0, colon), value: text.slice(colon + 2)};
}

function showLinesOf(name, lines) {
  for (const line of lines) {
    const {from, to} = line.dataset;
    line.classList.toggle('aside', name !== null && from !== name && to !== name);
  }
}

export function enlivenGraph(graph) {
  const lines = [...graph.querySelectorAll('path[data-from]')];
  const reaches = lines.map((line) => {
    const title = line.querySelector('title');
    title.remove();  // the browser's tooltip would cover the page's
    return widen(line, readTitle(title.textContent));
  });
  lines.at(-1)?.after(...reaches);
  for (const node of graph.querySelectorAll('[data-node]')) {
    node.addEventListener('pointerenter', () => showLinesOf(node.dataset.node, lines));
    node.addEventListener('pointerleave', () => showLinesOf(null, lines));
  }
}
