import {setViews} from '../../../../src/show/page/page.js';
import {documents, view} from '../../../../src/show/page/state.js';
import {closeThumbnails, focusThumbnail, markCurrent,
        thumbnailGrid} from '../../../../src/show/page/views/thumbnails.js';
import {equal, test} from '../harness.js';
import {openSample} from '../sample.js';

function openGrid() {
  openSample();
  setViews({});
  closeThumbnails();
  const grid = thumbnailGrid(documents[0]);
  document.getElementById('stage').replaceChildren(grid.node);
  return [...grid.node.querySelectorAll('button')];
}

test('every head has a thumbnail at its layer and number, with its class', () => {
  const buttons = openGrid();
  equal(buttons.map((button) => button.title),
        ['Head 0.0', 'Head 0.1: previous token 0.75', 'Head 0.2', 'Head 1.0', 'Head 1.1',
         'Head 1.2: other 0.50']);
  equal(buttons[5].style.gridArea.startsWith('3 / 4'), true);
  equal(buttons[1].getAttribute('aria-label'), 'Layer 0 · Head 1, previous token, score 0.75');
});

test('Tab focuses the current head', () => {
  const buttons = openGrid();
  view.head = '1.0';
  markCurrent();
  equal(buttons.map((button) => button.tabIndex), [-1, -1, -1, 0, -1, -1]);
  view.head = '0.2';
  focusThumbnail(documents[0].byName.get('0.2'));
  equal([document.activeElement === buttons[2], buttons[2].tabIndex], [true, 0]);
});

test('thumbnails are drawn when they become visible', async () => {
  const [button] = openGrid();
  const canvas = button.querySelector('canvas');
  const isDrawn = () => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    .data.some((value) => value > 0);
  for (let frame = 0; frame < 300 && !isDrawn(); ++frame) {
    await new Promise(requestAnimationFrame);
  }
  equal(isDrawn(), true);
});
