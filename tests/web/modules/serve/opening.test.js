import {fitting, kPair, kText} from '../../../../src/serve/page/opening.js';
import {equal, test} from '../harness.js';

test('an opening text keeps the words that the model has room for', () => {
  equal(fitting(kText, 20, 64), kText);
  equal(fitting('one two three four', 18, 9), 'one two');
  equal(fitting('abcdefgh', 8, 4), 'a', 'without words one letter stays:');
});

test('the opening pair differs in what it asks for', () => {
  equal(kPair.clean.replace(kPair.answer, kPair.wrong), kPair.corrupt);
});
