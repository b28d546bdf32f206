import {english} from '../../../../src/views/page/words/english.js';
import {korean} from '../../../../src/views/page/words/korean.js';
import {equal, test} from '../harness.js';

test('Korean has the texts of English with the same values', () => {
  equal(Object.keys(korean).sort(), Object.keys(english).sort());
  for (const [key, said] of Object.entries(english)) {
    equal([typeof korean[key], korean[key].length > 0], [typeof said, true], key);
    equal(typeof said === 'function' ? korean[key].length : 0,
          typeof said === 'function' ? said.length : 0, key);
  }
});
