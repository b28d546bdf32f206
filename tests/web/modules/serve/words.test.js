import {kWords} from '../../../../src/serve/page/words.js';
import {equal, test} from '../harness.js';

test('Korean has all texts of English with the same placeholders', () => {
  equal(Object.keys(kWords.ko).sort(), Object.keys(kWords.en).sort());
  const places = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const [key, said] of Object.entries(kWords.en)) {
    equal([said.length > 0, kWords.ko[key].length > 0], [true, true], key);
    equal(places(kWords.ko[key]), places(said), key);
  }
});
