import {hideTip, showTip} from '../../../src/show/page/tip.js';
import {equal, test} from './harness.js';

const tip = () => document.getElementById('tip');

test('the tip stays inside the window', () => {
  for (const [clientX, clientY] of [[0, 0], [innerWidth, innerHeight], [innerWidth, 0]]) {
    showTip({clientX, clientY}, 'a small line', 'some words');
    const {left, top, right, bottom} = tip().getBoundingClientRect();
    equal([left >= 0, top >= 0, right <= innerWidth, bottom <= innerHeight],
          [true, true, true, true]);
  }
  hideTip();
});
