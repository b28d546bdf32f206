import {english} from '../../../../src/views/page/words/english.js';
import {say, setWords} from '../../../../src/views/page/words/words.js';
import {equal, test} from '../harness.js';

test('texts are said as they are, functions with what stands in them', () => {
  equal([say('layer'), say('layerName', 3)], ['Layer', 'Layer 3']);
});

test('another table takes the place of English', () => {
  setWords({...english, layer: 'Schicht'});
  equal([say('layer'), say('head')], ['Schicht', 'Head']);
  setWords(english);
});
