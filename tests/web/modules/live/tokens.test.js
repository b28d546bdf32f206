import {isCut, isSpecial, nameAfter, percent, readTokens, shownTexts, shownToken, wholeTokens} from '../../../../src/show/page/live/tokens.js';
import {equal, near, test} from '../harness.js';

const named = (...names) => names.map((name) => ({name}));

test('blanks, line ends and bytes can be seen', () => {
  equal(['a b', '\n', '\t', '', 'bytes:\\xe2\\x80'].map(shownToken), ['a·b', '⏎', '⇥', '∅', '⟨E2 80⟩']);
});

test('a character of several tokens is shown at the first of them', () => {
  const tokens = named('a', 'bytes:\\xea\\xb3', 'bytes:\\xa0', ' b');
  equal(shownTexts(tokens), ['a', '고', '', ' b'].map((text) => text === '고' ? '\uace0' : text));
  equal(shownTexts(named('a', 'bytes:\\xea'))[1], '\uFFFD', 'what has no end yet:');
});

test('tokens that cut a character are shown as one', () => {
  equal(wholeTokens(['a', 'bytes:\\xea\\xb3', 'bytes:\\xa0', ' b', 'bytes:\\xea']),
        [{text: 'a', first: 0, last: 0}, {text: '\uace0', first: 1, last: 2}, {text: ' b', first: 3, last: 3},
         {text: 'bytes:\\xea', first: 4, last: 4}]);
});

test('parts of characters in the names of tokens are joined', () => {
  equal(wholeTokens(['\uc5b4', '<0xEB><0x8A>', '<0x90>', ' <0xEC><0x9E>', '<0x83>']).map(({text}) => text),
        ['\uc5b4', '\ub290', ' \uc783']);
});

test('an alternative is shown as the character that it completes', () => {
  equal(nameAfter(['a', '<0xEB><0x8A>'], '<0x90>'), '\ub290');
  equal(nameAfter(['a', '<0xEB><0x8A>'], ' b'), ' b', 'completes none:');
  equal(nameAfter(['\ub290'], '<0xEB>'), '<0xEB>', 'begins one:');
});

test('a token that begins or ends within a character is cut', () => {
  equal(['a', '\uc5b4', ' <0xEA><0xB3>', '<0xA0>', '<0xEA><0xB3><0xA0>'].map(isCut), [false, false, true, true, false]);
});

test('special tokens are recognised by their names', () => {
  const names = ['<|endoftext|>', '<s>', '</s>', '<bos>', '<end_of_turn>', '[INST]', 'a', '<', '<b>', 'a <s>', '[1]'];
  equal(names.filter(isSpecial), names.slice(0, 6));
});

test('tokens of an answer have their numbers, probabilities and what else was likely', () => {
  const [first, second] = readTokens({tokens: ['a', ' b'], token_ids: [1, 2], token_logprobs: [null, Math.log(0.25)],
    top_tokens: [[], [{id: 3, token: 'c', logprob: Math.log(0.5)}]]});
  equal([first.id, first.probability, second.name, second.likely[0].id], [1, null, ' b', 3]);
  near([second.probability, second.likely[0].probability], [0.25, 0.5]);
});

test('probabilities are shown with a readable number of digits', () => {
  equal([1, 0.456, 0.0456, 0.00456, 0.0001].map(percent), ['100 %', '46 %', '4.6 %', '0.5 %', '< 0.1 %']);
});
