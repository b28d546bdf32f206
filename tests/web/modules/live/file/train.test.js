import {freeName, settingsOf, speedOf, textFor} from '../../../../../src/show/page/live/file/train.js';
import {equal, test} from '../../harness.js';

test('a text in several languages gives the documents of one', () => {
  const text = 'One.\n\n하나.\n\nTwo.';
  equal(textFor('en', {text, mixed: true}), 'One.\n\nTwo.');
  equal(textFor('ko', {text, mixed: true}), '하나.');
  equal(textFor('ko', {text, mixed: false}), text);
  equal(textFor('ko', {text: 'One.', mixed: true}), 'One.');
});

test('a run looks twenty times, and a short one at every step', () => {
  const {eval_interval: evaluation, track_heads: heads, sample_interval: samples, sample_prompt: prompt} =
    settingsOf({max_iters: '600'}, '  Once upon\na time');
  equal([evaluation, heads, samples, prompt], ['30', '30', '30', 'Once']);
  equal(settingsOf({max_iters: '5'}, 'a').eval_interval, '1');
});

test('a run gets a name that no model has', () => {
  equal(freeName([]), 'trained-1');
  equal(freeName(['trained-1', 'toy', 'trained-3']), 'trained-2');
});

test('the speed is that of the latest steps', () => {
  equal(speedOf([]), 0);
  const lines = Array.from({length: 40}, (_, i) => ({loss: 1, elapsed_seconds: i < 10 ? 0 : (i - 10) / 4}));
  equal(speedOf([...lines, {validation_loss: 2, elapsed_seconds: 99}]), 4);
});
