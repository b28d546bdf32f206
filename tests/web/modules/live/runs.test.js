import {mergedNames} from '../../../../src/show/page/live/runs.js';
import {equal, test} from '../harness.js';

test('runs keep their places and new ones are appended', () => {
  equal(mergedNames([], ['b', 'a']), ['b', 'a']);
  equal(mergedNames(['b', 'a'], ['c', 'a', 'b']), ['b', 'a', 'c']);
  equal(mergedNames(['b', 'a', 'c'], ['d', 'c']), ['c', 'd']);
});
