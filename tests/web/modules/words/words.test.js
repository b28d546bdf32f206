import {english} from '../../../../src/show/page/words/english.js';
import {fillTexts, say, setWords} from '../../../../src/show/page/words/words.js';
import {equal, test} from '../harness.js';

test('texts are shown unchanged and functions are called with their values', () => {
  equal([say('layer'), say('layerName', 3)], ['Layer', 'Layer 3']);
});

test('another table of words replaces English', () => {
  setWords({...english, layer: 'Schicht'});
  equal([say('layer'), say('head')], ['Schicht', 'Head']);
  setWords(english);
});

test('elements are filled with the texts that they name', () => {
  const root = document.createElement('div');
  root.innerHTML = '<b data-say="linear">x</b><i data-say-label="views" data-say-title="none"></i>';
  fillTexts(root);
  equal([root.firstChild.textContent, root.lastChild.ariaLabel, root.lastChild.title],
        ['Linear', 'Views', 'none']);
});

test('every text that index.html names exists', () => {
  for (const node of document.querySelectorAll('[data-say], [data-say-label], [data-say-title]')) {
    for (const key of Object.values(node.dataset).filter((value) => value !== '')) {
      equal(typeof say(key), 'string', key);
    }
  }
});
