import {element} from '../../../../src/show/page/dom.js';
import {enlivenGraph, readTitle} from '../../../../src/show/page/results/graph.js';
import {equal, test} from '../harness.js';

function sample() {
  const graph = element('div');
  graph.innerHTML = '<svg><path data-from="0.1" data-to="1.0" d="M0 0"><title>0.1 to 1.0 (k): ' +
    '0.50</title></path><path data-from="embed" data-to="0.1" d="M0 0"><title>embed to 0.1 (v): ' +
    '-0.25</title></path><g data-node="1.0"></g></svg>';
  enlivenGraph(graph);
  return graph;
}

test('the title of a line is split into its ends and its value', () => {
  equal(readTitle('0.1 to 1.0 (k): -0.50'), {small: '0.1 to 1.0 (k)', value: '-0.50'});
});

test('pointing at a line shows its value', () => {
  const graph = sample();
  equal(graph.querySelectorAll('title').length, 0);
  const reach = graph.querySelectorAll('.reach')[1];
  reach.dispatchEvent(new PointerEvent('pointermove'));
  equal(document.getElementById('tip').textContent, '-0.25embed to 0.1 (v)');
  reach.dispatchEvent(new PointerEvent('pointerleave'));
  equal(document.getElementById('tip').hidden, true);
});

test('pointing at a node shows only its own lines', () => {
  const graph = sample();
  const node = graph.querySelector('[data-node]');
  const aside = () => [...graph.querySelectorAll('path[data-from]:not(.reach)')]
    .map((line) => line.classList.contains('aside'));
  node.dispatchEvent(new PointerEvent('pointerenter'));
  equal(aside(), [false, true]);
  node.dispatchEvent(new PointerEvent('pointerleave'));
  equal(aside(), [false, false]);
});

test('a page without a circuit stays unchanged', () => {
  const graph = element('div');
  enlivenGraph(graph);
  equal(graph.innerHTML, '');
});
