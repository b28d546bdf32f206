import {english} from '../../../../src/show/page/words/english.js';
import {korean, particle} from '../../../../src/show/page/words/korean.js';
import {equal, test} from '../harness.js';

test('Korean has the texts of English with the same values', () => {
  equal(Object.keys(korean).sort(), Object.keys(english).sort());
  for (const [key, said] of Object.entries(english)) {
    equal([typeof korean[key], korean[key].length > 0], [typeof said, true], key);
    equal(typeof said === 'function' ? korean[key].length : 0,
          typeof said === 'function' ? said.length : 0, key);
  }
});

test('a particle follows the last sound of its word', () => {
  const subject = (word) => `${word}${particle(word, '이', '가')}`;
  equal(['연', '노라', '64', '8', 'Ben', 'key', '봄."'].map(subject),
        ['연이', '노라가', '64가', '8이', 'Ben이', 'key가', '봄."이']);
  equal(particle('?!', '을', '를'), '을(를)');
  equal(`물었다${korean.place(6)}${korean.gives('물었다')}`, '물었다(위치 6)가 보는 곳');
});
