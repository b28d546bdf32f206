import {listenForTip, listenToArrows} from '../../../../src/show/page/live/reach.js';
import {equal, test} from '../harness.js';

const tip = () => document.getElementById('tip');

// Returns a box with two rows of three nodes.
function openBox() {
  const box = document.createElement('div');
  box.innerHTML = '<p><b>a</b><b>b</b><b>c</b></p><p><b>d</b><b>e</b><b>f</b></p>';
  const nodes = [...box.querySelectorAll('b')];
  nodes.forEach((node, i) => { node.tabIndex = i === 0 ? 0 : -1; });
  listenToArrows(box, 'b');
  document.body.append(box);
  return {box, nodes};
}

function press(key) {
  document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  return document.activeElement.textContent;
}

test('arrows move through rows, and Tab returns to the last cell', () => {
  const {box, nodes} = openBox();
  nodes[0].focus();
  equal(['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowUp'].map(press), ['b', 'e', 'd', 'a', 'a']);
  press('ArrowRight');
  equal([...box.querySelectorAll('[tabindex="0"]')].map((node) => node.textContent), ['b']);
  box.remove();
});

test('a cell with keyboard focus shows the same tip as under the pointer', async () => {
  const {box, nodes} = openBox();
  listenForTip(nodes[0], () => ['small', 'more']);
  nodes[0].focus();
  await new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
  equal([tip().hidden, tip().textContent], [false, 'moresmall']);
  nodes[1].focus();
  equal(tip().hidden, true);
  box.remove();
});
