import {fillTexts, languageOf, particle, say} from '../../../src/show/page/words.js';
import {equal, test} from './harness.js';

const korean = JSON.parse(document.getElementById('words').textContent).ko;

test('texts are filled with values, and one has no plural form', () => {
  equal([say('layer'), say('layer_name', {layer: 3})], ['Layer', 'Layer 3']);
  const counts = (heads, layers, cells) =>
    say('counts', {heads, layers, cells: say('cells_word', {count: cells})});
  equal(counts(1, 1, 1), 'Attention of 1 head in 1 layer over 1 word');
  equal(counts(0, 2, 6), 'Attention of 0 heads in 2 layers over 6 words');
});

test('lists are filled, and unknown keys are undefined', () => {
  equal(say('neuron_columns', {width: 4})[3], 'Sum ÷ √4');
  equal(say('error_none') === undefined, true);
});

test('a particle follows the last sound of its word', () => {
  const subject = (word) => `${word}${particle(word, '이', '가')}`;
  equal(['연', '노라', '64', '8', 'Ben', 'key', '봄."'].map(subject),
        ['연이', '노라가', '64가', '8이', 'Ben이', 'key가', '봄."이']);
  equal(particle('?!', '을', '를'), '을(를)');
  const label = '물었다';
  equal(`${label}${say('place', {place: 6}, korean)}${say('gives', {label}, korean)}`, '물었다(위치 6)가 보는 곳');
});

test('elements are filled with the texts that they name', () => {
  const root = document.createElement('div');
  root.innerHTML = '<b data-say="linear">x</b><i data-say-label="views" data-say-title="none"></i>';
  fillTexts(root);
  equal([root.firstChild.textContent, root.lastChild.ariaLabel, root.lastChild.title],
        ['Linear', 'Views', 'none']);
});

test('the language is that of the address, else of the file or the browser', () => {
  const english = {lang: 'en', dataset: {}};
  const either = {lang: 'en', dataset: {followsBrowser: ''}};
  equal(['', '?lang=ko', '?lang=fr'].map((query) => languageOf(query, english, 'ko-KR')), ['en', 'ko', 'en']);
  equal(languageOf('', {lang: 'ko', dataset: {}}, 'en-US'), 'ko');
  equal(['ko-KR', 'ko', 'en-GB', 'fr'].map((browser) => languageOf('', either, browser)), ['ko', 'ko', 'en', 'en']);
  equal(languageOf('?lang=en', either, 'ko'), 'en');
});
