import {english} from '../../../../src/views/page/words/english.js';
import {say, setWords} from '../../../../src/views/page/words/words.js';
import {equal, test} from '../harness.js';

test('texts are shown unchanged and functions are called with their values', () => {
  equal([say('layer'), say('layerName', 3)], ['Layer', 'Layer 3']);
});

test('another table of words replaces English', () => {
  setWords({...english, layer: 'Schicht'});
  equal([say('layer'), say('head')], ['Schicht', 'Head']);
  setWords(english);
});
