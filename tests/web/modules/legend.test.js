import {palette} from '../../../src/show/page/colours.js';
import {drawLegend, setRoot} from '../../../src/show/page/legend.js';
import {view} from '../../../src/show/page/state.js';
import {equal, near, test} from './harness.js';
import {openSample} from './sample.js';

const byId = (id) => document.getElementById(id);

test('the legend has every colour of the palette', () => {
  openSample();
  drawLegend();
  const {data} = byId('legend').getContext('2d').getImageData(0, 0, 256, 1);
  equal(new Uint32Array(data.buffer), palette().pixels);
});

test('ticks are placed at the colours of their weights', () => {
  openSample();
  for (const [root, weights, places] of [[false, '00.250.50.751', [0, 25, 50, 75, 100]],
                                         [true, '00.050.250.51', [0, 22.36, 50, 70.71, 100]]]) {
    setRoot(root);
    drawLegend();
    equal([view.root, byId('ticks').textContent], [root, weights]);
    near([...byId('ticks').children].map((tick) => parseFloat(tick.style.left)), places, 0.01);
    equal(['root', 'linear'].map((id) => byId(id).getAttribute('aria-pressed')),
          [String(root), String(!root)]);
  }
});
