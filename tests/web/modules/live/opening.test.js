import {fitting, kKoreanPair, kKoreanText, kPair, kText, readsWell} from '../../../../src/show/page/live/opening.js';
import {equal, test} from '../harness.js';

test('an opening text keeps the words that the context length allows', () => {
  equal(fitting(kText, 20, 64), kText);
  equal(fitting('one two three four', 18, 9), 'one two');
  equal(fitting('abcdefgh', 8, 4), 'a', 'without words one letter stays:');
});

test('the texts of the opening pairs ask for different answers', () => {
  for (const {clean, corrupt, answer, wrong} of [kPair, kKoreanPair]) {
    equal(clean.replace(answer, wrong), corrupt);
  }
});

test('the Korean opening text is used only for models that encode Hangul', () => {
  const characters = [...kKoreanText].map((one) => one.codePointAt(0));
  equal(readsWell(kKoreanText, characters), true);
  equal(readsWell(kKoreanText, characters.map(() => 0)), false);
  equal(readsWell(kKoreanText, [...characters, ...characters, ...characters]), false);
  equal(readsWell(kKoreanText, []), false);
});
