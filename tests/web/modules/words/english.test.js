import {english} from '../../../../src/show/page/words/english.js';
import {equal, test} from '../harness.js';

test('one has no plural form', () => {
  equal(english.counts(1, 1, 1), 'Attention of 1 head in 1 layer over 1 token');
  equal(english.counts(1, 1, 6, 'word'), 'Attention of 1 head in 1 layer over 6 words');
  equal(english.counts(0, 2, 3), 'Attention of 0 heads in 2 layers over 3 tokens');
});
