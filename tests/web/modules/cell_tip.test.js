import {showCellTip} from '../../../src/show/page/cell_tip.js';
import {documents} from '../../../src/show/page/state.js';
import {hideTip} from '../../../src/show/page/tip.js';
import {setHideFirst} from '../../../src/show/page/weights.js';
import {equal, test} from './harness.js';
import {openSample} from './sample.js';

const tip = () => document.getElementById('tip');

test('the tip of a cell names query, key and weight', () => {
  openSample();
  showCellTip({clientX: 10, clientY: 10}, documents[0].byName.get('0.1'), {query: 2, key: 1});
  equal(tip().textContent, '·sat → ·cat: 0.750position 2 → 1');
  setHideFirst(true);
  showCellTip({clientX: 10, clientY: 10}, documents[0].byName.get('1.1'), {query: 2, key: 1});
  equal(tip().querySelector('small').textContent, 'position 2 → 1, first token hidden');
  equal(tip().hidden, false);
  hideTip();
  equal(tip().hidden, true);
});
