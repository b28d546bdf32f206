import {kWords, languageOf} from '../../../../src/serve/page/words.js';
import {equal, test} from '../harness.js';

test('Korean has all texts of English with the same placeholders', () => {
  equal(Object.keys(kWords.ko).sort(), Object.keys(kWords.en).sort());
  const places = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const [key, said] of Object.entries(kWords.en)) {
    equal([said.length > 0, kWords.ko[key].length > 0], [true, true], key);
    equal(places(kWords.ko[key]), places(said), key);
  }
});

test('the language is that of the address, else of the file or the browser', () => {
  const english = {lang: 'en', dataset: {}};
  const either = {lang: 'en', dataset: {followsBrowser: ''}};
  equal(['', '?lang=ko', '?lang=fr'].map((query) => languageOf(query, english, 'ko-KR')), ['en', 'ko', 'en']);
  equal(languageOf('', {lang: 'ko', dataset: {}}, 'en-US'), 'ko');
  equal(['ko-KR', 'ko', 'en-GB', 'fr'].map((browser) => languageOf('', either, browser)), ['ko', 'ko', 'en', 'en']);
  equal(languageOf('?lang=en', either, 'ko'), 'en');
});
