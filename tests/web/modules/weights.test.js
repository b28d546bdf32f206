import {documents, view} from '../../../src/show/page/state.js';
import {isBlank, linkWeight, numberText, recordedWeights, setHideFirst, shownWeights, strongest,
        summary, withoutFirst} from '../../../src/show/page/weights.js';
import {equal, near, test} from './harness.js';
import {openSample} from './sample.js';

const head = (name) => documents[0].byName.get(name);

test('without the first key a row sums to 1 again, or is blank', () => {
  near([...withoutFirst(new Float32Array([1, 0, 0, 0.5, 0.5, 0, 0.2, 0.2, 0.6]), 3)],
       [0, 0, 0, 0, 1, 0, 0, 0.25, 0.75]);
  near([...withoutFirst(new Float32Array([1, 0, 0.9995, 0.0005]), 2)], [0, 0, 0, 0]);
});

test('weights in cells have the format of the data', () => {
  openSample();
  equal(numberText(0.256), '0.26');
  equal([numberText(0.256, {decimals: 0, percent: true}), numberText(0.5, {decimals: 3})],
        ['26%', '0.500']);
});

test('hiding the first token changes what is shown, not what is recorded', () => {
  openSample();
  near(shownWeights(head('0.1'))[5], 0.75, 1e-5);
  setHideFirst(true);
  near([...shownWeights(head('0.1')).subarray(5, 7)], [0, 1], 1e-5);
  near([...recordedWeights(head('0.1')).subarray(5, 7)], [0.75, 0.25], 1e-5);
});

test('cells of the future and of a hidden first token are blank', () => {
  openSample();
  equal([isBlank(documents[0], 1, 2), isBlank(documents[0], 1, 0)], [true, false]);
  equal(isBlank({causal: false}, 1, 2), false);
  setHideFirst(true);
  equal([isBlank(documents[0], 1, 0), isBlank(documents[0], 1, 1)], [true, false]);
});

test('the most recently decoded weights are cached', () => {
  openSample();
  const first = shownWeights(head('0.0'));
  equal(shownWeights(head('0.0')) === first, true);
  for (let i = 0; i < 40; ++i) {
    shownWeights({...head('0.1')});
  }
  equal(shownWeights(head('0.0')) === first, false);
});

test('a link is what the chosen token gives or receives', () => {
  openSample();
  view.token = 3;
  near([2, 3].map((i) => linkWeight(head('0.1'), i)), [0.75, 0.25], 1e-5);
  equal(linkWeight(head('0.1'), 4), null);
  view.direction = 'receives';
  near([3, 4].map((i) => linkWeight(head('0.1'), i)), [0.25, 0.75], 1e-5);
  equal(linkWeight(head('0.1'), 2), null);
});

test('the strongest links come first, without those that would print as 0', () => {
  const weights = [0.1, 0.0004, 0.6, 0.0005, 0.3, null];
  equal(strongest(6, (i) => weights[i], 3), [[0.6, 2], [0.3, 4], [0.1, 0]]);
  equal(strongest(6, (i) => weights[i], 9).length, 4);
});

test('the summary of a head is the mean over its queries but the first', () => {
  openSample();
  const figures = Object.fromEntries(summary(head('0.1')));
  near([figures['Previous token'], figures['First token'], figures.Itself],
       [0.75, 0.75 / 4, 0.25], 1e-5);
  near(figures.Entropy, -0.75 * Math.log(0.75) - 0.25 * Math.log(0.25), 1e-4);
  setHideFirst(true);
  equal(summary(head('0.1')).map(([name]) => name), ['Previous token', 'Itself', 'Entropy']);
});
